# bash completion for taskrt: the program says itself what may follow.
_taskrt() {
	local cur=${COMP_WORDS[COMP_CWORD]} words=("${COMP_WORDS[@]:0:COMP_CWORD}") ask=()
	# A lone -- would end the flags.
	if [[ $cur == -- ]]; then ask=(-); elif [[ $cur == -* ]]; then ask=("$cur"); fi
	local IFS=$'\n'
	COMPREPLY=($(compgen -W "$("${words[@]}" "${ask[@]}" --generate-bash-completion 2>/dev/null)" -- "$cur"))
}
complete -o bashdefault -o default -F _taskrt taskrt
