package syscalls

// signatures has a line for each call whose arguments are known: its name, then the names of its arguments, each with its kind (see
// [Kind]) after a colon: a size, if there is none. After => stands the kind of the result, if that is not a number.
//
// Kinds that are names of sets in constants.go are flags and enumerations.
const signatures = `
read fd:fd buf:ptr count => size
write fd:fd buf:ptr count => size
pread64 fd:fd buf:ptr count offset => size
pwrite64 fd:fd buf:ptr count offset => size
readv fd:fd iov:ptr iovcnt:int => size
writev fd:fd iov:ptr iovcnt:int => size
preadv fd:fd iov:ptr iovcnt:int offset offset_high:int => size
pwritev fd:fd iov:ptr iovcnt:int offset offset_high:int => size
preadv2 fd:fd iov:ptr iovcnt:int offset offset_high:int flags:rwf => size
pwritev2 fd:fd iov:ptr iovcnt:int offset offset_high:int flags:rwf => size
open path:path flags:open mode:mode
openat dirfd:dirfd path:path flags:open mode:mode
openat2 dirfd:dirfd path:path how:ptr size
creat path:path mode:mode
close fd:fd
close_range first:int last:int flags:hex
stat path:path statbuf:ptr
lstat path:path statbuf:ptr
fstat fd:fd statbuf:ptr
newfstatat dirfd:dirfd path:path statbuf:ptr flags:at
stat64 path:path statbuf:ptr
lstat64 path:path statbuf:ptr
fstat64 fd:fd statbuf:ptr
fstatat64 dirfd:dirfd path:path statbuf:ptr flags:at
statx dirfd:dirfd path:path flags:at mask:hex statbuf:ptr
statfs path:path buf:ptr
fstatfs fd:fd buf:ptr
access path:path mode:access
faccessat dirfd:dirfd path:path mode:access
faccessat2 dirfd:dirfd path:path mode:access flags:hex
poll fds:ptr nfds:int timeout:int
ppoll fds:ptr nfds:int timeout:ptr sigmask:ptr sigsetsize
select nfds:int readfds:ptr writefds:ptr exceptfds:ptr timeout:ptr
_newselect nfds:int readfds:ptr writefds:ptr exceptfds:ptr timeout:ptr
pselect6 nfds:int readfds:ptr writefds:ptr exceptfds:ptr timeout:ptr sigmask:ptr
epoll_create size:int
epoll_create1 flags:open
epoll_ctl epfd:fd op:epollop fd:fd event:ptr
epoll_wait epfd:fd events:ptr maxevents:int timeout:int
epoll_pwait epfd:fd events:ptr maxevents:int timeout:int sigmask:ptr sigsetsize
epoll_pwait2 epfd:fd events:ptr maxevents:int timeout:ptr sigmask:ptr sigsetsize
eventfd initval:int
eventfd2 initval:int flags:eventfd
timerfd_create clock:clock flags:open
timerfd_settime fd:fd flags:timer new:ptr old:ptr
timerfd_gettime fd:fd value:ptr
signalfd fd:fd mask:ptr sizemask
signalfd4 fd:fd mask:ptr sizemask flags:open
inotify_init
inotify_init1 flags:open
inotify_add_watch fd:fd path:path mask:hex
inotify_rm_watch fd:fd wd:int
lseek fd:fd offset:long whence:whence => size
mmap addr:ptr length prot:prot flags:map fd:fd offset => ptr
mmap2 addr:ptr length prot:prot flags:map fd:fd pgoffset:long => ptr
mprotect addr:ptr length prot:prot
munmap addr:ptr length
mremap addr:ptr old_size new_size flags:remap new_addr:ptr => ptr
brk addr:ptr => ptr
madvise addr:ptr length advice:advice
process_madvise pidfd:fd iov:ptr vlen:int advice:advice flags:hex => size
msync addr:ptr length flags:msync
mincore addr:ptr length vec:ptr
mlock addr:ptr length
mlock2 addr:ptr length flags:hex
munlock addr:ptr length
mlockall flags:mlock
munlockall
memfd_create name:path flags:memfd
membarrier cmd:membarrier flags:hex cpu:int
rt_sigaction signal:signal act:ptr oldact:ptr sigsetsize
rt_sigprocmask how:sigmask set:ptr oldset:ptr sigsetsize
rt_sigreturn
sigreturn
rt_sigpending set:ptr sigsetsize
rt_sigsuspend mask:ptr sigsetsize
rt_sigtimedwait set:ptr siginfo:ptr timeout:ptr sigsetsize
rt_sigqueueinfo pid:int signal:signal siginfo:ptr
sigaltstack ss:ptr old_ss:ptr
kill pid:int signal:signal
tkill tid:int signal:signal
tgkill pid:int tid:int signal:signal
pidfd_open pid:int flags:hex
pidfd_send_signal pidfd:fd signal:signal siginfo:ptr flags:hex
pidfd_getfd pidfd:fd targetfd:int flags:hex
pause
ioctl fd:fd request:hex arg:ptr
fcntl fd:fd cmd:fcntl arg:hex
fcntl64 fd:fd cmd:fcntl arg:hex
flock fd:fd operation:flock
fsync fd:fd
fdatasync fd:fd
sync
syncfs fd:fd
sync_file_range fd:fd offset length flags:hex
truncate path:path length
ftruncate fd:fd length
fallocate fd:fd mode:falloc offset length
fadvise64 fd:fd offset length advice:fadvice
readahead fd:fd offset count
getdents fd:fd dirp:ptr count => size
getdents64 fd:fd dirp:ptr count => size
getcwd buf:ptr size => size
chdir path:path
fchdir fd:fd
rename oldpath:path newpath:path
renameat olddirfd:dirfd oldpath:path newdirfd:dirfd newpath:path
renameat2 olddirfd:dirfd oldpath:path newdirfd:dirfd newpath:path flags:rename
mkdir path:path mode:mode
mkdirat dirfd:dirfd path:path mode:mode
rmdir path:path
link oldpath:path newpath:path
linkat olddirfd:dirfd oldpath:path newdirfd:dirfd newpath:path flags:at
unlink path:path
unlinkat dirfd:dirfd path:path flags:at
symlink target:path linkpath:path
symlinkat target:path newdirfd:dirfd linkpath:path
readlink path:path buf:ptr size => size
readlinkat dirfd:dirfd path:path buf:ptr size => size
chmod path:path mode:mode
fchmod fd:fd mode:mode
fchmodat dirfd:dirfd path:path mode:mode
fchmodat2 dirfd:dirfd path:path mode:mode flags:at
chown path:path owner:int group:int
lchown path:path owner:int group:int
fchown fd:fd owner:int group:int
fchownat dirfd:dirfd path:path owner:int group:int flags:at
umask mask:mode
mknod path:path mode:mode dev:hex
mknodat dirfd:dirfd path:path mode:mode dev:hex
utime path:path times:ptr
utimes path:path times:ptr
utimensat dirfd:dirfd path:path times:ptr flags:at
chroot path:path
pivot_root new_root:path put_old:path
mount source:path target:path fstype:ptr flags:hex data:ptr
umount2 target:path flags:hex
getxattr path:path name:path value:ptr size => size
lgetxattr path:path name:path value:ptr size => size
fgetxattr fd:fd name:path value:ptr size => size
setxattr path:path name:path value:ptr size flags:hex
lsetxattr path:path name:path value:ptr size flags:hex
fsetxattr fd:fd name:path value:ptr size flags:hex
listxattr path:path list:ptr size => size
llistxattr path:path list:ptr size => size
flistxattr fd:fd list:ptr size => size
dup oldfd:fd
dup2 oldfd:fd newfd:int
dup3 oldfd:fd newfd:int flags:open
pipe fds:ptr
pipe2 fds:ptr flags:open
sendfile out_fd:fd in_fd:fd offset:ptr count => size
sendfile64 out_fd:fd in_fd:fd offset:ptr count => size
splice fd_in:fd off_in:ptr fd_out:fd off_out:ptr length flags:splice => size
tee fd_in:fd fd_out:fd length flags:splice => size
vmsplice fd:fd iov:ptr nr_segs:int flags:splice => size
copy_file_range fd_in:fd off_in:ptr fd_out:fd off_out:ptr length flags:hex => size
socket family:family type:socket protocol:int
socketpair family:family type:socket protocol:int fds:ptr
bind fd:fd addr:ptr addrlen:int
listen fd:fd backlog:int
accept fd:fd addr:ptr addrlen:ptr
accept4 fd:fd addr:ptr addrlen:ptr flags:socket
connect fd:fd addr:ptr addrlen:int
sendto fd:fd buf:ptr length flags:msg addr:ptr addrlen:int => size
recvfrom fd:fd buf:ptr length flags:msg addr:ptr addrlen:ptr => size
sendmsg fd:fd msg:ptr flags:msg => size
recvmsg fd:fd msg:ptr flags:msg => size
sendmmsg fd:fd msgvec:ptr vlen:int flags:msg
recvmmsg fd:fd msgvec:ptr vlen:int flags:msg timeout:ptr
shutdown fd:fd how:shut
getsockname fd:fd addr:ptr addrlen:ptr
getpeername fd:fd addr:ptr addrlen:ptr
setsockopt fd:fd level:level option:int value:ptr length:int
getsockopt fd:fd level:level option:int value:ptr length:ptr
socketcall call:int args:ptr
clone flags:clone stack:ptr parent_tid:ptr child_tid:ptr tls:ptr
clone3 args:ptr size
fork
vfork
execve path:path argv:ptr envp:ptr
execveat dirfd:dirfd path:path argv:ptr envp:ptr flags:at
exit status:int
exit_group status:int
wait4 pid:int status:ptr options:wait rusage:ptr
waitpid pid:int status:ptr options:wait
waitid idtype:idtype id:int siginfo:ptr options:wait rusage:ptr
ptrace request:ptrace pid:int addr:ptr data:ptr
prctl option:prctl arg2:hex arg3:hex arg4:hex arg5:hex
arch_prctl option:arch addr:ptr
futex uaddr:ptr op:futex val:int timeout:ptr uaddr2:ptr val3:hex
futex_time64 uaddr:ptr op:futex val:int timeout:ptr uaddr2:ptr val3:hex
futex_wait uaddr:ptr val:int mask:hex flags:hex timeout:ptr clock:clock
futex_wake uaddr:ptr mask:hex nr:int flags:hex
futex_waitv waiters:ptr nr:int flags:hex timeout:ptr clock:clock
set_robust_list head:ptr length
get_robust_list pid:int head:ptr length:ptr
set_tid_address tidptr:ptr
rseq rseq:ptr length flags:hex signature:hex
nanosleep duration:ptr remaining:ptr
clock_nanosleep clock:clock flags:timer duration:ptr remaining:ptr
clock_nanosleep_time64 clock:clock flags:timer duration:ptr remaining:ptr
clock_gettime clock:clock time:ptr
clock_gettime64 clock:clock time:ptr
clock_settime clock:clock time:ptr
clock_getres clock:clock res:ptr
gettimeofday tv:ptr tz:ptr
time tloc:ptr
times buf:ptr
getitimer which:itimer value:ptr
setitimer which:itimer new:ptr old:ptr
alarm seconds:int
timer_create clock:clock event:ptr timer:ptr
timer_settime timer:int flags:timer new:ptr old:ptr
timer_gettime timer:int value:ptr
timer_delete timer:int
sched_yield
sched_setaffinity tid:int length mask:ptr
sched_getaffinity tid:int length mask:ptr
sched_setscheduler tid:int policy:policy param:ptr
sched_getscheduler tid:int
sched_setparam tid:int param:ptr
sched_getparam tid:int param:ptr
sched_setattr tid:int attr:ptr flags:hex
sched_getattr tid:int attr:ptr size flags:hex
getpriority which:int who:int
setpriority which:int who:int priority:int
getcpu cpu:ptr node:ptr cache:ptr
getpid
getppid
gettid
getuid
geteuid
getgid
getegid
getuid32
geteuid32
getgid32
getegid32
setuid uid:int
setgid gid:int
setreuid ruid:int euid:int
setregid rgid:int egid:int
setresuid ruid:int euid:int suid:int
setresgid rgid:int egid:int sgid:int
getresuid ruid:ptr euid:ptr suid:ptr
getresgid rgid:ptr egid:ptr sgid:ptr
getgroups size:int list:ptr
setgroups size:int list:ptr
getpgrp
getpgid pid:int
setpgid pid:int pgid:int
getsid pid:int
setsid
capget header:ptr data:ptr
capset header:ptr data:ptr
getrlimit resource:rlimit limit:ptr
ugetrlimit resource:rlimit limit:ptr
setrlimit resource:rlimit limit:ptr
prlimit64 pid:int resource:rlimit new:ptr old:ptr
getrusage who:rusage usage:ptr
sysinfo info:ptr
uname buf:ptr
getrandom buf:ptr length flags:random => size
syslog type:int buf:ptr length:int
seccomp operation:int flags:hex args:ptr
bpf cmd:bpf attr:ptr size
perf_event_open attr:ptr pid:int cpu:int group_fd:fd flags:hex
io_uring_setup entries:int params:ptr
io_uring_enter fd:int to_submit:int min_complete:int flags:uring arg:ptr argsz
io_uring_register fd:int opcode:int arg:ptr nr_args:int
io_setup nr_events:int ctx:ptr
io_destroy ctx:ptr
io_submit ctx:ptr nr:int iocbs:ptr
io_getevents ctx:ptr min_nr:int nr:int events:ptr timeout:ptr
io_pgetevents ctx:ptr min_nr:int nr:int events:ptr timeout:ptr sigmask:ptr
io_cancel ctx:ptr iocb:ptr result:ptr
restart_syscall
shmget key:hex size flags:hex
shmat shmid:int addr:ptr flags:hex => ptr
shmdt addr:ptr
shmctl shmid:int cmd:int buf:ptr
semget key:hex nsems:int flags:hex
semop semid:int sops:ptr nsops:int
semtimedop semid:int sops:ptr nsops:int timeout:ptr
semctl semid:int semnum:int cmd:int arg:hex
msgget key:hex flags:hex
msgsnd msqid:int msg:ptr size flags:hex
msgrcv msqid:int msg:ptr size type:int flags:hex => size
msgctl msqid:int cmd:int buf:ptr
mq_open name:path flags:open mode:mode attr:ptr
mq_unlink name:path
mq_timedsend fd:fd msg:ptr length priority:int timeout:ptr
mq_timedreceive fd:fd msg:ptr length priority:ptr timeout:ptr => size
mq_notify fd:fd event:ptr
mq_getsetattr fd:fd new:ptr old:ptr
userfaultfd flags:open
landlock_create_ruleset attr:ptr size flags:hex
landlock_add_rule fd:fd type:int attr:ptr flags:hex
landlock_restrict_self fd:fd flags:hex
set_thread_area desc:ptr
modify_ldt func:int ptr:ptr count
`
