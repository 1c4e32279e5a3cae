set -u
host=$(hostname -s 2>/dev/null || uname -n)
out=${1:-shunt-ask}/$host
pause=${2:-10} # seconds between two readings of a counter
mkdir -p "$out" || exit 1

# ask FILE COMMAND: the command behind a prompt that tells whose it is, and what it prints. What the host lacks is listed.
ask() {
  type "${2%% *}" >/dev/null 2>&1 || {
    printf '%s\n' "$2" >>"$out/missing.txt"
    return
  }
  mkdir -p "$out/$(dirname "$1")" || return
  {
    printf '[shunt@%s ~]$ %s\n' "$host" "$2"
    timeout 60 bash -c "$2" </dev/null
  } >"$out/$1.txt" 2>&1
}

# The interfaces of RDMA devices; where there are none, every interface of a device.
netdevs=$(for d in /sys/class/infiniband/*/device/net/*; do [ -e "$d" ] && basename "$d"; done | sort -u)
[ -n "$netdevs" ] || netdevs=$(for d in /sys/class/net/*/device; do [ -e "$d" ] && basename "$(dirname "$d")"; done | sort -u)
