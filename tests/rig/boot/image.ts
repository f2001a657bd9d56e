import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { INTERNET } from "../../../src/sandbox/topology.ts";
import { NETWORK_MANAGERS } from "./network-manager.ts";
import { placeOf, type Variant } from "./variant.ts";

/** A kind of machine that Debian and QEMU both know. */
export interface Architecture {
  qemu: readonly string[];
  accelerators: readonly string[];
  console: string;
  kernelPackage: string;
  /** The name of the program's build. */
  build: "x64" | "arm64";
}

const EMULATION = "tcg,thread=multi,tb-size=512";
/** Not every /dev/kvm can run Debian's kernel, but those of a processor's own virtualization can. */
export const HAS_KVM = ["/sys/module/kvm_amd", "/sys/module/kvm_intel"].some((module) => existsSync(module));

export const ARCHITECTURES: Record<Variant["arch"], Architecture> = {
  amd64: {
    // With cmpxchg16b, which QEMU emulates wrongly when an interrupt comes in between, a kernel panics now and then.
    qemu: ["qemu-system-x86_64", "-cpu", "max,cx16=off"],
    accelerators: HAS_KVM ? ["kvm", EMULATION] : [EMULATION],
    console: "ttyS0",
    kernelPackage: "linux-image-cloud-amd64",
    build: "x64",
  },
  arm64: {
    // A Raspberry Pi's.
    qemu: ["qemu-system-aarch64", "-machine", "virt", "-cpu", "cortex-a72"],
    accelerators: [EMULATION],
    console: "ttyAMA0",
    kernelPackage: "linux-image-cloud-arm64",
    build: "arm64",
  },
};

/** What a person would start with, and what the test needs to look inside. No program for WireGuard: the kernel's is meant. */
const PACKAGES = [
  ...["systemd-sysv", "udev", "dbus", "kmod", "openssh-server", "procps", "curl"],
  ...["iproute2", "nftables", "wireguard-tools", "dnsmasq-base"],
];

/** Work of Debian's that has nothing to do with the network, and takes an emulated machine minutes. */
const MASKED = [
  ...["e2scrub_reap.service", "apt-daily.timer", "apt-daily-upgrade.timer", "dpkg-db-backup.timer"],
  ...["systemd-logind.service", "getty.target"],
];
/** Options of the kernel. */
const BARE = [
  // A panic ends QEMU, and so the test.
  "net.ifnames=0 quiet mitigations=off panic=-1",
  // A kernel that gets no processor for its first ticks takes the timer for broken, and panics.
  "no_timer_check",
  // An emulated serial line is slow, and systemd draws on it all the time.
  "systemd.show_status=error",
  ...MASKED.map((unit) => `systemd.mask=${unit}`),
].join(" ");

const REPOSITORY = join(import.meta.dir, "../../..");
/** A fresh Debian takes minutes to fetch and unpack, so it is kept. */
const KEPT = join(REPOSITORY, "dist/boot");

export interface Image {
  disk: string;
  /** What starts from the disk by itself needs a firmware; the others have their kernel beside it, or use this machine's. */
  starts: { kernel: string; initrd: string; options: string } | { firmware: string } | "contained";
  /** Private key that opens the machine for root. */
  key: string;
  folder: string;
}

/** A Debian machine on a disk, with the program and other files in root's home and nothing of it installed. */
export async function makeImage(variant: Variant, files: readonly string[]): Promise<Image> {
  const folder = mkdtempSync(join(tmpdir(), "portcullis-boot-"));
  const root = join(folder, "root");
  mkdirSync(root);
  await run(["tar", "-xf", await debian(variant), "-C", root]);
  const boot = readdirSync(join(root, "boot"));
  const take = (prefix: string) => {
    const name = boot.find((one) => one.startsWith(prefix)) ?? "";
    copyFileSync(join(root, "boot", name), join(folder, prefix));
    rmSync(join(root, "boot", name));
    return join(folder, prefix);
  };
  const image: Image = {
    disk: join(folder, "disk"),
    starts: { kernel: take("vmlinuz"), initrd: take("initrd"), options: `root=/dev/vda rw ${BARE}` },
    key: await newKey(folder),
    folder,
  };
  await furnish(root, variant, await Bun.file(`${image.key}.pub`).text());
  const program = join(REPOSITORY, `dist/portcullis-${ARCHITECTURES[variant.arch].build}`);
  copyFileSync(program, join(root, "root/portcullis"));
  for (const file of files) copyFileSync(file, join(root, "root", basename(file)));
  await run(["truncate", "-s", "2G", image.disk]);
  await run(["mkfs.ext4", "-q", "-F", "-d", root, image.disk]);
  rmSync(root, { recursive: true });
  return image;
}

/** The private one; the public one is beside it. */
export async function newKey(folder: string): Promise<string> {
  const key = join(folder, "key");
  await run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key]);
  return key;
}

async function debian({ release, network, arch }: Variant): Promise<string> {
  const tar = join(KEPT, `${release}-${network}-${arch}.tar`);
  if (existsSync(tar)) return tar;
  mkdirSync(KEPT, { recursive: true });
  const packages = [
    ...PACKAGES,
    ...NETWORK_MANAGERS[network].packages(release),
    ARCHITECTURES[arch].kernelPackage,
  ];
  await run([
    "mmdebstrap",
    "--format=tar",
    "--variant=minbase",
    `--arch=${arch}`,
    `--include=${packages.join(",")}`,
    release,
    `${tar}.new`,
  ]);
  await run(["mv", `${tar}.new`, tar]);
  return tar;
}

async function furnish(root: string, variant: Variant, publicKey: string): Promise<void> {
  const { files, mode, enable, resolvConf } = NETWORK_MANAGERS[variant.network];
  const put = (path: string, text: string, bits = 0o644) => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
    chmodSync(join(root, path), bits);
  };
  put("/etc/hostname", "gateway\n");
  put("/etc/fstab", "/dev/vda / ext4 rw 0 1\n");
  rmSync(join(root, "/etc/resolv.conf"), { force: true });
  for (const [path, text] of Object.entries(files(placeOf(variant).cards))) put(path, text, mode);
  if (resolvConf !== null) symlinkSync(resolvConf, join(root, "/etc/resolv.conf"));
  if (enable.length > 0) await run(["systemctl", `--root=${root}`, "enable", ...enable]);
  put("/etc/systemd/system/service.d/patient.conf", PATIENT);
  put("/etc/systemd/system/portcullis.service.d/patient.conf", PATIENT_WATCHDOG);
  put("/root/.ssh/authorized_keys", publicKey, 0o600);
  put("/root/eager", EAGER, 0o755);
  put("/etc/systemd/system/eager.service", EAGER_UNIT);
  const wants = join(root, "/etc/systemd/system/sysinit.target.wants");
  mkdirSync(wants, { recursive: true });
  symlinkSync("/etc/systemd/system/eager.service", join(wants, "eager.service"));
}

/** For every service. Their time-outs are for machines that are not emulated: systemd would kill an `ifdown` halfway. */
const PATIENT = `[Service]
TimeoutStartSec=30min
TimeoutStopSec=30min
`;

/** The service's own: two minutes of a starved machine are a second of work. */
const PATIENT_WATCHDOG = `[Service]
WatchdogSec=30min
`;

/** Tries to reach the internet from the first moment to the last. */
export const EAGER = `#!/bin/bash
exec {never}<> <(:)
while :; do
  { echo eager >/dev/udp/${INTERNET.host4}/7; } 2>/dev/null
  { echo eager >/dev/udp/${INTERNET.host6}/7; } 2>/dev/null
  read -r -t 0.2 -u "$never"
done
`;

const EAGER_UNIT = `[Unit]
DefaultDependencies=no
After=local-fs.target
[Service]
ExecStart=/root/eager
Restart=always
[Install]
WantedBy=sysinit.target
`;

export async function run(argv: string[]): Promise<void> {
  const child = Bun.spawn(argv, { stdin: "ignore", stdout: "inherit", stderr: "inherit" });
  if ((await child.exited) !== 0) throw new Error(`${argv[0]} failed`);
}
