import { mkdirSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { processorMs } from "../tools/processor-time.ts";
import { until } from "../tools/until.ts";
import { run } from "./image.ts";

/** Copies on this file system are made at one moment, also of a file that is written to meanwhile. */
const SHELF = "8G";

/** Has a disk's folder on a file system of its own; `removeShelf` is to end that. */
export async function makeShelf(folder: string): Promise<void> {
  const file = `${folder}.xfs`;
  await run(["truncate", "-s", SHELF, file]);
  await run(["mkfs.xfs", "-q", "-m", "reflink=1", file]);
  mkdirSync(folder, { recursive: true });
  await run(["mount", "-o", "loop", file, folder]);
}

export async function removeShelf(folder: string): Promise<void> {
  await run(["umount", "-l", folder]);
  await run(["rm", "-f", `${folder}.xfs`]);
}

/**
 * What starts a disk's Debian as processes of this machine's kernel, in namespaces of its own: a boot takes seconds where
 * QEMU needs minutes. There is no firmware, no initial file system and no kernel of the image; this machine's settings, clock
 * and modules are not touched. The cables are those that appear as `names`. The machine believes that it was turned on so many
 * minutes ago.
 */
export function containedMachine(
  disk: string,
  names: readonly string[],
  credentials: string,
  age_min: number,
): string[] {
  // What has passed since this machine's own power-on would count as the machine's.
  const since_s = Number.parseInt(readFileSync("/proc/uptime", "utf8"), 10);
  const age = ["--time", "--boottime", `${60 * age_min - since_s}`];
  return [...ENDS_WITH_THE_TEST, ...APART, ...age, "sh", "-euc", START, "-", disk, credentials, ...names];
}

const ENDS_WITH_THE_TEST = ["setpriv", "--pdeathsig=KILL"];
const APART = [
  ...["unshare", "--net", "--mount", "--pid", "--fork", "--uts", "--ipc", "--cgroup"],
  ...["--kill-child", "--propagation", "private"],
];

/** Nothing of these may reach this machine: its sysctls, its clock, its devices, its swap. */
const NOT_HERE = [
  ...["systemd-sysctl", "systemd-timesyncd", "systemd-modules-load", "systemd-binfmt", "systemd-udevd"],
  ...["systemd-udev-trigger", "portcullis-clock", "e2scrub_reap"],
];

const START = `
disk=$1 credentials=$2
shift 2
for name; do
  until ip link show "$name" >/dev/null 2>&1; do sleep 0.05; done
done
mount -t tmpfs machine /mnt
mkdir /mnt/root
loop=$(losetup --find --show --partscan "$disk")
# This kernel may not know tables of partitions.
[ -b "\${loop}p2" ] || partx --add "$loop"
# As the initial file system does. What has no CAP_SYS_RESOURCE cannot let a file system grow that is in use.
e2fsck -fp "\${loop}p2" >/dev/null || [ $? = 1 ]
resize2fs "\${loop}p2" >/dev/null 2>&1
mount -o noatime "\${loop}p2" /mnt/root
# It is free again as soon as nothing uses it.
losetup --detach "$loop"
cd /mnt/root
echo "\${loop}p2 / ext4 rw,noatime 0 1" >etc/fstab
rm -f etc/systemd/zram-generator.conf
for unit in ${NOT_HERE.join(" ")}; do ln -sf /dev/null "etc/systemd/system/$unit.service"; done
# WireGuard as a program, as far as this kernel has none; its other modules are loaded, or part of it.
cp /usr/bin/wireguard-go usr/bin/
mkdir -p "usr/lib/modules/$(uname -r)"
mount -t proc proc proc
mount -t sysfs -o ro sys sys
mount -t cgroup2 cgroup sys/fs/cgroup
mount -t tmpfs -o mode=755 run run
mount -t tmpfs tmp tmp
mount -t tmpfs -o mode=755 dev dev
mkdir dev/net dev/pts dev/shm
cp -a /dev/null /dev/zero /dev/full /dev/random /dev/urandom /dev/tty "$loop" "$loop"p* dev/
mknod -m 666 dev/net/tun c 10 200
mount -t devpts -o newinstance,ptmxmode=666 pts dev/pts
ln -s pts/ptmx dev/ptmx
mount -t tmpfs shm dev/shm
mkdir -p run/host boot/firmware
cp -r "$credentials" run/host/credentials
# This kernel may not know the file system of the first partition.
mcopy -n -Q -i "$disk@@1M" ::authorized_keys ::claim boot/firmware/ 2>/dev/null || true
pivot_root . mnt
umount -l /mnt
exec env -i container=portcullis-test CREDENTIALS_DIRECTORY=/run/host/credentials PATH=/usr/sbin:/usr/bin:/sbin:/bin \\
  setpriv --bounding-set=-sys_time,-sys_module /lib/systemd/systemd </dev/null
`;

/** The first process of the machine that `unshare` has started; null before there is one, and after its end. */
export function firstProcess(unshare: number): number | null {
  try {
    return Number(readFileSync(`/proc/${unshare}/task/${unshare}/children`, "utf8").split(" ")[0]) || null;
  } catch {
    return null;
  }
}

/** What the machine has used of the processor, with what has ended in it. */
export function containedMs(unshare: number): number {
  const first = firstProcess(unshare);
  const spaceOf = (pid: number | string) => {
    try {
      return readlinkSync(`/proc/${pid}/ns/pid`);
    } catch {
      return "";
    }
  };
  if (first === null) return 0;
  const space = spaceOf(first);
  const inside = readdirSync("/proc").filter((name) => /^\d+$/.test(name) && spaceOf(name) === space);
  return inside.reduce((sum, pid) => sum + processorMs(Number(pid), true), 0);
}

/** Has the machine's file system write nothing more, not even what it is about to: the same as a power cut. */
export async function cutPower(unshare: number): Promise<void> {
  const first = firstProcess(unshare);
  if (first !== null) await run(["xfs_io", "-x", "-c", "shutdown", `/proc/${first}/root`]);
}

/** Returns once the kernel has left the disk, which it does a moment after the last process. */
export async function diskIsFree(disk: string): Promise<void> {
  const users = async () => (await Bun.$`losetup --associated ${disk}`.text()).trim();
  await until(async () => (await users()) === "");
}
