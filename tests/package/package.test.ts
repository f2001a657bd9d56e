import { afterAll, beforeAll, expect } from "bun:test";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { version } from "../../package.json";
import { unitsFor } from "../../src/install/units.ts";
import { PACKAGED } from "../../src/system/layout.ts";
import { needsRoot } from "../fast.ts";

const REPOSITORY = join(import.meta.dir, "../..");
/** It starts the program and the bundler for each text. */
const TIMEOUT_MS = 180_000;
/** What the script reads of the project. */
const SOURCES = [
  "src",
  "scripts",
  "debian",
  "docs",
  "package.json",
  "bun.lock",
  "bunfig.toml",
  "tsconfig.json",
];
const TEXTS = ["README.md", "CHANGELOG.md", "LICENSE"];

const folder = mkdtempSync(join(tmpdir(), "portcullis-package-"));
afterAll(() => rmSync(folder, { recursive: true }));
let made: string;

/** Makes a package in a copy of the project, of a program that is only a few bytes. */
function packageIn(name: string, mask: string, env: Record<string, string>): string {
  const copy = join(folder, name);
  mkdirSync(copy);
  for (const path of [...SOURCES, ...TEXTS])
    cpSync(join(REPOSITORY, path), join(copy, path), { recursive: true });
  for (const path of ["node_modules", ".tools"]) symlinkSync(join(REPOSITORY, path), join(copy, path));
  const program = join(copy, "program");
  writeFileSync(program, "#!/bin/sh\n");
  chmodSync(program, 0o700);
  const { exitCode, stderr } = Bun.spawnSync(
    ["sh", "-c", `umask ${mask}; exec "$@"`, "sh", join(copy, "scripts/package"), "arm64", program, copy],
    {
      env: {
        PATH: process.env.PATH ?? "",
        HOME: process.env.HOME ?? "",
        SOURCE_DATE_EPOCH: "1700000000",
        DPKG_DEB_COMPRESSOR_TYPE: "none",
        ...env,
      },
    },
  );
  if (exitCode !== 0) throw new Error(`${stderr}`);
  return join(copy, `portcullis_${version}_arm64.deb`);
}

function ran(...argv: string[]): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync(argv, {
    env: { PATH: process.env.PATH ?? "", LC_ALL: "C", TZ: "UTC" },
  });
  if (exitCode !== 0) throw new Error(`${argv.join(" ")}: ${stderr}`);
  return `${stdout}`;
}

/** The contents without folders: mode, owner and path. */
function contents(path: string): string[] {
  return ran("dpkg-deb", "--contents", path)
    .split("\n")
    .map((line) => line.split(/\s+/))
    .filter(([mode]) => mode?.startsWith("-"))
    .map(([mode, owner, , , , name]) => `${mode} ${owner} ${name?.slice(1)}`);
}

beforeAll(() => {
  if (process.env.PORTCULLIS_TEST_FAST !== "1") made = packageIn("first", "022", {});
}, TIMEOUT_MS);

needsRoot.test(
  "the package is made the same, bit by bit, wherever and by whomever",
  () => {
    const other = packageIn("elsewhere", "077", { LC_ALL: "C.UTF-8", TZ: "Asia/Tokyo" });
    expect(readFileSync(other).equals(readFileSync(made))).toBe(true);
  },
  TIMEOUT_MS,
);

needsRoot.test("the package has every file where Debian has its like, and root owns all", () => {
  const files = contents(made);
  expect(files.filter((line) => !/ \/usr\/share\/doc\/portcullis\/docs\//.test(line))).toEqual([
    "-rwxr-xr-x root/root /usr/bin/portcullis",
    "-rw-r--r-- root/root /usr/lib/systemd/system/portcullis-clock.service",
    "-rw-r--r-- root/root /usr/lib/systemd/system/portcullis-dhcp.service",
    "-rw-r--r-- root/root /usr/lib/systemd/system/portcullis-killswitch.service",
    "-rw-r--r-- root/root /usr/lib/systemd/system/portcullis.service",
    "-rw-r--r-- root/root /usr/lib/systemd/system-preset/90-portcullis.preset",
    "-rw-r--r-- root/root /usr/share/bash-completion/completions/portcullis",
    "-rw-r--r-- root/root /usr/share/doc/portcullis/CHANGELOG.md",
    "-rw-r--r-- root/root /usr/share/doc/portcullis/README.md",
    "-rw-r--r-- root/root /usr/share/doc/portcullis/changelog.gz",
    "-rw-r--r-- root/root /usr/share/doc/portcullis/copyright",
    "-rw-r--r-- root/root /usr/share/doc/portcullis/portcullis.cdx.json.gz",
    "-rw-r--r-- root/root /usr/share/fish/vendor_completions.d/portcullis.fish",
    "-rw-r--r-- root/root /usr/share/lintian/overrides/portcullis",
    "-rw-r--r-- root/root /usr/share/man/man8/portcullis.8.gz",
    "-rw-r--r-- root/root /usr/share/zsh/vendor-completions/_portcullis",
  ]);
  expect(files).toContain("-rw-r--r-- root/root /usr/share/doc/portcullis/docs/raspberry-pi.md");
});

needsRoot.test("the package names its version, its architecture and what it needs", () => {
  const field = (name: string) => ran("dpkg-deb", "--field", made, name).trim();
  expect(field("Version")).toBe(version);
  expect(field("Architecture")).toBe("arm64");
  expect(field("Depends")).toBe(
    "iproute2, kmod, libc6 (>= 2.17), nftables, openssh-client, systemd, wireguard-tools",
  );
  expect(field("Suggests")).toBe("dnsmasq-base, wireguard-go");
});

needsRoot.test("the C library that the package asks for has every function that the runtime calls", () => {
  const versions = ran("objdump", "-T", process.execPath).match(/(?<=GLIBC_)\d+\.\d+/g) ?? [];
  const newest = versions.toSorted((one, other) => Bun.semver.order(`${one}.0`, `${other}.0`)).at(-1);
  expect(ran("dpkg-deb", "--field", made, "Depends")).toContain(`libc6 (>= ${newest})`);
});

needsRoot.test("the units, the program and the checksums in the package are those of this version", () => {
  const root = join(folder, "unpacked");
  ran("dpkg-deb", "--raw-extract", made, root);
  for (const [name, text] of Object.entries(unitsFor(PACKAGED.program)))
    expect(readFileSync(join(root, PACKAGED.units, name), "utf8")).toBe(text);
  expect(readFileSync(join(root, PACKAGED.program), "utf8")).toBe("#!/bin/sh\n");
  // As systemd does at the first boot of an image.
  ran("systemctl", `--root=${root}`, "--quiet", "preset-all", "--preset-mode=enable-only");
  expect(existsSync(join(root, "etc"))).toBe(false);
  expect(ran("sh", "-c", `cd ${root} && md5sum --check --quiet DEBIAN/md5sums`)).toBe("");
  const copyright = readFileSync(join(root, "usr/share/doc/portcullis/copyright"), "utf8");
  // deb822(5): a paragraph's further lines begin with a space.
  expect(copyright.split("\n").filter((line) => !/^$|^ \s*\S|^[A-Z][A-Za-z-]+: /.test(line))).toEqual([]);
  expect(copyright).toContain("\n ## Bun ");
  expect(ran("zcat", join(root, "usr/share/man/man8/portcullis.8.gz"))).toContain(
    "portcullis \\- WireGuard VPN gateway",
  );
});
