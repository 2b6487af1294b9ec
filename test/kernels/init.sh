#!/busybox sh
# The first process of a guest: mounts what the tests need, runs them and ends the machine.
B=/busybox
$B mount -t proc proc /proc
$B mount -t sysfs sys /sys
$B mount -t devtmpfs dev /dev
$B mkdir -p /dev/pts /dev/shm /run/given /run/out /run/disk
$B mount -t devpts devpts /dev/pts
$B ln -s /proc/self/fd /dev/fd
for module in /modules/*.ko; do $B insmod "$module" || $B echo "insmod $module failed"; done
share() { $B mount -t 9p -o "trans=virtio,version=9p2000.L,msize=524288,$3" "$1" "$2" || $B poweroff -f; }
share usr /usr ro,cache=loose
share given /run/given ro,cache=loose
share out /run/out cache=none
for dir in tmp var/tmp dev/shm; do $B mount -t tmpfs tmpfs "/$dir"; done
$B chmod 1777 /tmp /var/tmp
$B mount -t tracefs tracefs /sys/kernel/tracing
$B mount -t debugfs debugfs /sys/kernel/debug
$B mount -t bpf bpf /sys/fs/bpf
$B mount -t securityfs securityfs /sys/kernel/security
$B mount -t cgroup2 cgroup2 /sys/fs/cgroup
[ ! -e /dev/vda ] || $B mount -t ext4 /dev/vda /run/disk || $B echo "there is no disk"
$B ip link set lo up
$B cp -a /run/given/etc/. /etc/
export HOME=/root TMPDIR=/tmp PATH=/usr/bin:/usr/sbin:/bin:/sbin
/usr/bin/bash /run/given/guest.sh >/run/out/log 2>&1
$B echo $? >/run/out/status
$B sync
$B poweroff -f
