# fish completion for taskrt: the program says itself what may follow.
function __taskrt_complete
    set -l words (commandline -opc)
    set -l cur (commandline -ct)
    if test "$cur" = --
        set words $words -
    else if string match -q -- '-*' $cur
        set words $words $cur
    end
    $words --generate-bash-completion 2>/dev/null
end
complete -c taskrt -a '(__taskrt_complete)'
