#compdef taskrt
# zsh completion for taskrt: the program says itself what may follow.
_taskrt() {
	local -a found
	found=("${(@f)$("${words[1]}" completion words zsh "${(@)words[2,CURRENT]}" 2>/dev/null)}")
	if [[ -n ${found[1]} ]]; then compadd -- "${found[@]}"; else _files; fi
}
if [[ ${zsh_eval_context[-1]} == loadautofunc ]]; then _taskrt "$@"; else compdef _taskrt taskrt; fi
