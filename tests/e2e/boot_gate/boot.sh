# Run by machine.py as `sh boot.sh FOLDER KERNEL_LINE` in separate namespaces (mounts, processes, control groups): becomes systemd.
set -e
mount --make-rprivate /
mount -t proc proc /proc
# Nothing that runs here may end the machine on which it is tested.
if [ -e /proc/sysrq-trigger ]; then mount --bind /dev/null /proc/sysrq-trigger; fi
mount --bind "$1/cmdline" /proc/cmdline
mount -t tmpfs tmpfs /run
mount --bind "$1/disk" /var/lib
mount --bind "$1/units" /etc/systemd/system
# None of this machine's own units, and no generators that would create some.
mount -t tmpfs tmpfs /usr/lib/systemd/system
mount -t tmpfs tmpfs /usr/lib/systemd/system-generators
mkdir -p /run/systemd/system /run/lock
export container=lxc
exec /usr/lib/systemd/systemd --system --unit=boot.target --log-target=console --log-level=warning --show-status=no
