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
import { dirname, join } from "node:path";
import { INTERNET, LAN, ROUTER, UPLINK } from "../../src/sandbox/topology.ts";

/** A kind of machine that Debian and QEMU both know. */
export interface Architecture {
  debian: "amd64" | "arm64";
  qemu: readonly string[];
  console: string;
  kernelPackage: string;
  binary: string;
}

export const ARCHITECTURES: Record<Architecture["debian"], Architecture> = {
  amd64: {
    debian: "amd64",
    qemu: ["qemu-system-x86_64", "-cpu", "max"],
    console: "ttyS0",
    kernelPackage: "linux-image-cloud-amd64",
    binary: "dist/portcullis-x64",
  },
  arm64: {
    debian: "arm64",
    qemu: ["qemu-system-aarch64", "-machine", "virt", "-cpu", "cortex-a72"],
    console: "ttyAMA0",
    kernelPackage: "linux-image-cloud-arm64",
    binary: "dist/portcullis-arm64",
  },
};

/** What a person would start with, and what the test needs to look inside. No program for WireGuard: the kernel's is meant. */
const PACKAGES = [
  ...[
    "systemd-sysv",
    "udev",
    "dbus",
    "kmod",
    "ifupdown",
    "isc-dhcp-client",
    "openssh-server",
    "procps",
    "curl",
  ],
  ...["iproute2", "nftables", "wireguard-tools"],
];
const SUITE = "bookworm";

const REPOSITORY = join(import.meta.dir, "../..");
/** A fresh Debian takes minutes to fetch and unpack, so it is kept. */
const KEPT = join(REPOSITORY, "dist/boot");

export interface Image {
  disk: string;
  kernel: string;
  initrd: string;
  /** Private key that opens the machine for root. */
  key: string;
  folder: string;
}

/** A Debian machine on a disk, with the program in root's home and nothing of it installed. */
export async function makeImage(architecture: Architecture): Promise<Image> {
  const folder = mkdtempSync(join(tmpdir(), "portcullis-boot-"));
  const root = join(folder, "root");
  mkdirSync(root);
  await run(["tar", "-xf", await debian(architecture), "-C", root]);
  const boot = readdirSync(join(root, "boot"));
  const take = (prefix: string) => {
    const name = boot.find((one) => one.startsWith(prefix)) ?? "";
    copyFileSync(join(root, "boot", name), join(folder, prefix));
    rmSync(join(root, "boot", name));
    return join(folder, prefix);
  };
  const image = {
    disk: join(folder, "disk"),
    kernel: take("vmlinuz"),
    initrd: take("initrd"),
    key: join(folder, "key"),
    folder,
  };
  await run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", image.key]);
  furnish(root, await Bun.file(`${image.key}.pub`).text());
  copyFileSync(join(REPOSITORY, architecture.binary), join(root, "root/portcullis"));
  await run(["truncate", "-s", "2G", image.disk]);
  await run(["mkfs.ext4", "-q", "-F", "-d", root, image.disk]);
  rmSync(root, { recursive: true });
  return image;
}

async function debian({ debian: name, kernelPackage }: Architecture): Promise<string> {
  const tar = join(KEPT, `${name}.tar`);
  if (existsSync(tar)) return tar;
  mkdirSync(KEPT, { recursive: true });
  const include = `--include=${[...PACKAGES, kernelPackage].join(",")}`;
  await run([
    "mmdebstrap",
    "--format=tar",
    "--variant=minbase",
    `--arch=${name}`,
    include,
    SUITE,
    `${tar}.new`,
  ]);
  await run(["mv", `${tar}.new`, tar]);
  return tar;
}

function furnish(root: string, publicKey: string): void {
  const put = (path: string, text: string, mode = 0o644) => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
    chmodSync(join(root, path), mode);
  };
  put("/etc/hostname", "gateway\n");
  put("/etc/fstab", "/dev/vda / ext4 rw 0 1\n");
  put("/etc/network/interfaces", INTERFACES);
  put("/root/.ssh/authorized_keys", publicKey, 0o600);
  put("/root/eager", EAGER, 0o755);
  put("/etc/systemd/system/eager.service", EAGER_UNIT);
  const wants = join(root, "/etc/systemd/system/sysinit.target.wants");
  mkdirSync(wants, { recursive: true });
  symlinkSync("/etc/systemd/system/eager.service", join(wants, "eager.service"));
}

const INTERFACES = `auto lo eth0 eth1
iface lo inet loopback
iface eth0 inet dhcp
iface eth0 inet6 static
  address ${UPLINK.gateway6}/64
  gateway ${ROUTER.lan[2].v6}
  dad-attempts 0
iface eth1 inet static
  address ${LAN.gateway4}/24
iface eth1 inet6 static
  address ${LAN.gateway6}/64
  dad-attempts 0
`;

/** Tries to reach the internet from the first moment to the last. */
const EAGER = `#!/bin/bash
exec {never}<> <(:)
while :; do
  { echo eager >/dev/udp/${INTERNET.host4}/7; } 2>/dev/null
  { echo eager >/dev/udp/${INTERNET.host6}/7; } 2>/dev/null
  read -r -t 0.1 -u "$never"
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

async function run(argv: string[]): Promise<void> {
  const child = Bun.spawn(argv, { stdin: "ignore", stdout: "inherit", stderr: "inherit" });
  if ((await child.exited) !== 0) throw new Error(`${argv[0]} failed`);
}
