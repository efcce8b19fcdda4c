# fish completion of harness. Load it with
#   harness completion fish | source
function __harness_complete
    set -l words (commandline -opc)
    set -l last (string replace -ar '^["\']|\\\\' '' -- (commandline -ct))
    set -l found ($words[1] __complete $words[2..] "$last" 2>/dev/null)
    if test "$found[1]" = "<files>"
        set -l head (string match -r -- '^--[^=]*=' "$last")
        printf "$head%s\n" (__fish_complete_path (string replace -r -- '^--[^=]*=' '' "$last"))
    else
        printf '%s\n' $found
    end
end
complete -c harness -f -a '(__harness_complete)'
