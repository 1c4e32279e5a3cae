#!/usr/bin/env bash
# What to run next. It only reads: no setting is changed, no counter reset, nothing sent.
# Afterwards: shunt explain shunt-ask
# Run it on: node1, node2; inside the job's container too, where there is one; on their SONiC
#   switches.
#
# What would settle a finding; tests that send traffic are not part of the script:
# I001 (node1 uses GID index 0 (fe80::ff:fe00:1), which is not routed): show_gids on both hosts
#
# For the next run of the job, in its environment:
#   NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET,ENV,GRAPH NCCL_DEBUG_FILE=nccl_%h_%p.log   (I001 C002 I002)

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

# On the host.
ask ibstatus 'ibstatus' || true

# Counters, twice: what they grow by under load is what counts.
for dev in $netdevs; do ask "before/ethtool_S_$dev" "ethtool -S $(printf %q "$dev")" || true; done
sleep "$pause"
for dev in $netdevs; do ask "after_${pause}s/ethtool_S_$dev" "ethtool -S $(printf %q "$dev")" || true; done

# On the host, and once more inside the container of the job, where it may differ.
ask show_gids 'show_gids' || true
ask gids 'grep -sv 0000:0000:0000:0000:0000:0000:0000:0000 /sys/class/infiniband/*/ports/*/gids/*; grep -s . /sys/class/infiniband/*/ports/*/gid_attrs/types/* /sys/class/infiniband/*/ports/*/gid_attrs/ndevs/*' || true
ask env 'env | grep -E '\''^(NCCL|RCCL|UCX|OMPI_MCA|TORCH_NCCL|TORCH_DISTRIBUTED|FI|OFI_NCCL|SHARP|RDMAV|MLX5|GLOO)_|^CUDA_VISIBLE_DEVICES='\'' | grep -viE '\''^[^=]*(token|secret|passw|credential|auth|key)'\''' || true

# On a switch that runs SONiC.
if [ -e /etc/sonic ]; then
  ask before/pfcwd 'show pfcwd stats' || true
  sleep "$pause"
  ask "after_${pause}s/pfcwd" 'show pfcwd stats' || true
fi

echo "read into $out"
