# bash completion for taskrt: the program says itself what may follow.
_taskrt() {
	local IFS=$'\n'
	COMPREPLY=($("${COMP_WORDS[0]}" completion words bash "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o bashdefault -o default -F _taskrt taskrt
