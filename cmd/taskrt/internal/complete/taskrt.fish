# fish completion for taskrt: the program says itself what may follow.
function __taskrt_complete
    set -l words (commandline -opc)
    set -l cur (commandline -ct)
    set -l program $words[1]
    set -e words[1]
    $program completion words fish $words "$cur" 2>/dev/null
end
complete -c taskrt -a '(__taskrt_complete)'
