import { afterAll, afterEach, beforeAll, beforeEach, expect } from "bun:test";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import type { Host } from "../../src/system/host.ts";
import { LinuxHost } from "../../src/system/linux.ts";
import { SETUP_NOTES } from "../../src/system/setup.ts";
import type { Running } from "../../src/update/archive.ts";
import { completionOf } from "../../src/update/completion.ts";
import { keepFormer } from "../../src/update/former.ts";
import { sourceAt } from "../../src/update/source.ts";
import { install, lookAt, type UpdateDeps } from "../../src/update/update.ts";
import { slow } from "../fast.ts";
import { type Made, NOTES, run, Workshop } from "./made.ts";

const { describe, test } = slow;

const host = new LinuxHost();
const HERE: Running = { version: "9.0.0", kind: "archive", architecture: "arm64" };
const NAME = "portcullis-9.2.0-linux-arm64.tar.xz";
/** Where downloads are. */
const PLACE = "/var/tmp";

/** What programs of the machine say instead. */
const machine = (says: Record<string, string>): Pick<Host, "run" | "read"> => ({
  run: async (argv, options) =>
    says[argv.slice(0, 2).join(" ")] ?? says[argv[0] ?? ""] ?? host.run(argv, options),
  read: async (path) => says[path] ?? null,
});
const OLD = { systemctl: "1234\n", readlink: "/usr/bin/portcullis (deleted)\n" };
const PACKAGED: Running = { ...HERE, kind: "package" };

const INSTALLED = `Package: portcullis
Status: install ok installed
Maintainer: Nobody <nobody@example.test>
Architecture: arm64
Version: 9.0.0
Conffiles:
 /etc/portcullis.conf 0123456789abcdef0123456789abcdef
Description: of a test
`;

let workshop: Workshop;
/** What was on the disk before. */
let before: string[];
/** What was run to upgrade, and with which effect. */
let ran: { command: string; isProgram: boolean }[];
/** The program that is installed. */
let installed: string;
/** Its version after the upgrade. */
let becomes: string;

beforeAll(() => {
  workshop = new Workshop();
  installed = join(workshop.folder, "installed");
});
afterAll(() => workshop.close());
beforeEach(() => {
  before = left();
  ran = [];
  becomes = "9.2.0";
  installs("9.0.0");
});
afterEach(() => expect(left()).toEqual(before));

function left(): string[] {
  return readdirSync(PLACE).filter((name) => name.startsWith(`portcullis-${process.pid}-`));
}

function installs(version: string): void {
  writeFileSync(installed, `#!/bin/sh\necho "portcullis ${version}"\n`, { mode: 0o755 });
}

function depsFor(place: string, changes: Partial<UpdateDeps> = {}): UpdateDeps {
  return {
    host,
    source: sourceAt(place, () => Promise.reject(new Error("nothing is asked of the internet"))),
    running: HERE,
    program: installed,
    signers: workshop.key.signers,
    isServing: async () => true,
    signal: new AbortController().signal,
    spawn: (argv) => {
      const words = argv.map((word) => word.replace(/^\/var\/tmp\/portcullis-[^/]+/, "(private)"));
      ran.push({ command: words.join(" "), isProgram: existsSync(argv.at(0) ?? "") });
      installs(becomes);
      return { exited: Promise.resolve(0) };
    },
    ...changes,
  };
}

async function update(place: string, changes: Partial<UpdateDeps> = {}): Promise<void> {
  const deps = depsFor(place, changes);
  await install(deps, await lookAt(deps), () => {});
}

test("a signed, newer release is offered with what is new since this version", async () => {
  const offer = await lookAt(depsFor(workshop.release()));
  expect(offer).toMatchObject({ version: "9.2.0", isNewer: true, archive: { name: NAME } });
  expect(offer.notes).toBe("## [9.2.0] - 2027-02-01\n\n- Newest.\n\n## [9.1.0] - 2027-01-01\n\n- Newer.");
  expect(ran).toEqual([]);
});

test("an archive is unpacked where only root can, and installs itself", async () => {
  const folder = workshop.release();
  await update(folder);
  await update(join(folder, NAME));
  const command = "(private)/portcullis-9.2.0-linux-arm64/portcullis install --yes";
  expect(ran).toEqual([
    { command, isProgram: true },
    { command, isProgram: true },
  ]);
});

test("a packaged program is upgraded by apt-get, from the file that was verified", async () => {
  const former = { "dpkg-query --status": INSTALLED, "dpkg-query": "" };
  await update(workshop.release(), { host: machine(former), running: PACKAGED });
  expect(ran.map(({ command }) => command)).toEqual([
    "env DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends --no-remove -o Dpkg::Options::=--force-confold -o APT::Sandbox::User=root (private)/portcullis_9.2.0_arm64.deb",
  ]);
});

describe("a disk without room for an upgrade", () => {
  const GROWS = "/usr/local/sbin/portcullis-room";
  const own = { ...OLD, "findmnt -no": "/dev/mmcblk0p2\n" };
  const text = /^an upgrade needs \d+ MB, and \d+ MB are free: /;

  // A file with nothing in it takes no room.
  beforeEach(() => truncateSync(installed, 2 ** 43));

  test.each([
    ["is told what is missing", {}, "make room in the file system of /var/tmp first"],
    [
      "of an image that has not grown to all of its card is told to start again",
      { [GROWS]: "", "/sys/class/block/mmcblk0p2/../size": `${2 ** 42}\n` },
      "the system does not have all of its card yet, which it gets when it starts: turn the gateway off and on, then try again",
    ],
    [
      "of an image that has is told what is missing",
      { [GROWS]: "", "/sys/class/block/mmcblk0p2/../size": "8\n" },
      "make room in the file system of /var/tmp first",
    ],
  ])("%s, before anything is downloaded or changed", async (_, files, next) => {
    const folder = workshop.release();
    rmSync(join(folder, NAME));
    for (const running of [HERE, PACKAGED]) {
      const error = await update(folder, { host: machine({ ...own, ...files }), running }).catch(
        (fault: Error) => fault.message,
      );
      expect(error).toMatch(text);
      expect(String(error).replace(text, "")).toBe(next);
    }
    expect(ran).toEqual([]);
  });
});

test("the same version is up to date", async () => {
  const offer = await lookAt(depsFor(workshop.release({ version: "9.0.0" })));
  expect(offer).toMatchObject({ version: "9.0.0", isNewer: false, notes: "" });
});

describe("a signature is refused", () => {
  test.each<[string, () => Made, string]>([
    ["by another key", () => ({ key: workshop.makeKey("other") }), "Could not verify signature."],
    ["for another purpose", () => ({ namespace: "file" }), "namespace does not match"],
  ])("%s", async (_, made, why) => {
    await refuses(workshop.release(made()), why);
  });

  test("of another list", async () => {
    const folder = workshop.release();
    appendFileSync(join(folder, "SHA256SUMS"), `${"0".repeat(64)}  more\n`);
    await refuses(folder, "incorrect signature");
  });

  test("that is none", async () => {
    const folder = workshop.release();
    writeFileSync(join(folder, "SHA256SUMS.sig"), "a signature\n");
    await refuses(folder, "Couldn't parse signature");
  });

  test("that is not there", async () => {
    const folder = workshop.release();
    rmSync(join(folder, "SHA256SUMS.sig"));
    await expect(update(folder)).rejects.toThrow("SHA256SUMS.sig cannot be read: ");
    expect(ran).toEqual([]);
  });

  test("by a key that may sign something else only", async () => {
    const signers = workshop.key.signers.replace("portcullis-release", "git");
    await refuses(workshop.release(), "not permitted", { signers });
  });

  async function refuses(folder: string, why: string, changes: Partial<UpdateDeps> = {}): Promise<void> {
    const error = await update(folder, changes).catch((fault: Error) => fault.message);
    expect(error).toStartWith("SHA256SUMS is not signed by Portcullis's release key (");
    expect(error).toContain(why);
    expect(error).toEndWith("; do not install these files, and fetch the release from its official place");
    expect(ran).toEqual([]);
  }
});

test("without a key nothing is verified, and nothing is read", async () => {
  const signers = "# No key yet.\n\n";
  await expect(update("/", { signers })).rejects.toThrow("this build has no key to verify releases with");
});

test("an older version is refused, even if it is signed", async () => {
  const why = "the release has version 8.9.9, and this machine has 9.0.0; an older version is not installed";
  await expect(lookAt(depsFor(workshop.release({ version: "8.9.9" })))).rejects.toThrow(why);
});

describe("a file is refused that is", () => {
  const changed = `${NAME} is not the file that SHA256SUMS names: it is incomplete or was altered`;

  test.each<[string, (file: string) => void]>([
    ["cut short", (file) => truncateSync(file, 100)],
    ["too long", (file) => appendFileSync(file, "more")],
    ["another", (file) => writeFileSync(file, "something else")],
    ["empty", (file) => truncateSync(file, 0)],
  ])("%s", async (_, damage) => {
    const folder = workshop.release();
    damage(join(folder, NAME));
    await expect(update(folder)).rejects.toThrow(changed);
    expect(ran).toEqual([]);
  });

  test("larger than any release", async () => {
    const folder = workshop.release();
    truncateSync(join(folder, NAME), 2 ** 40);
    await expect(update(folder)).rejects.toThrow("it is larger than 268435456 bytes");
  });

  test("not a file", async () => {
    const folder = workshop.release();
    rmSync(join(folder, NAME));
    run(["mkfifo", join(folder, NAME)]);
    await expect(update(folder)).rejects.toThrow("it is not a file");
  });

  test("another version under this name", async () => {
    const program = '#!/bin/sh\necho "portcullis 9.9.9"\n';
    await expect(update(workshop.release({ program }))).rejects.toThrow(
      `${NAME} contains another version than its name says: 9.9.9`,
    );
    const before = (folder: string) =>
      renameSync(join(folder, "portcullis_9.2.0_amd64.deb"), join(folder, "portcullis_9.2.0_arm64.deb"));
    await expect(
      update(workshop.release({ before }), { running: { ...HERE, kind: "package" } }),
    ).rejects.toThrow(
      "portcullis_9.2.0_arm64.deb contains another package than its name says: portcullis 9.2.0 amd64",
    );
    expect(ran).toEqual([]);
  });

  test("notes that were changed", async () => {
    const folder = workshop.release();
    writeFileSync(join(folder, "notes.md"), NOTES.replace("Newest", "Harmless"));
    await expect(lookAt(depsFor(folder))).rejects.toThrow("notes.md is not the file that SHA256SUMS names");
  });
});

describe("an archive is refused, even signed, with", () => {
  const TOP = "portcullis-9.2.0-linux-arm64";
  const wrong = `${NAME} contains more than the files of a release: `;

  /** An archive of what `fill` puts into a folder, in which the members are named. */
  function archiveOf(fill: (folder: string) => void, ...members: string[]): string {
    return workshop.release({
      before: (folder) => {
        const here = join(folder, "..", "content");
        run(["mkdir", "-p", join(here, TOP)]);
        writeFileSync(join(here, TOP, "portcullis"), "#!/bin/sh\n", { mode: 0o755 });
        fill(here);
        run(["tar", "-C", here, "-P", "-S", "-cJf", join(folder, NAME), ...members]);
        rmSync(here, { recursive: true });
      },
    });
  }

  test.each<[string, (here: string) => void, string[]]>([
    ["a symbolic link", (here) => symlinkSync("/etc/passwd", join(here, TOP, "LICENSES")), [TOP]],
    [
      "a symbolic link as the program",
      (here) => {
        rmSync(join(here, TOP, "portcullis"));
        symlinkSync("/bin/true", join(here, TOP, "portcullis"));
      },
      [TOP],
    ],
    ["a hard link", (here) => run(["ln", join(here, TOP, "portcullis"), join(here, TOP, "again")]), [TOP]],
    ["a pipe", (here) => run(["mkfifo", join(here, TOP, "pipe")]), [TOP]],
    ["a folder inside", (here) => run(["mkdir", join(here, TOP, "more")]), [TOP]],
    ["a file elsewhere", (here) => writeFileSync(join(here, "other"), ""), [TOP, "other"]],
    ["a way up", (here) => writeFileSync(join(here, "up"), ""), [TOP, `${TOP}/../up`]],
    ["an absolute path", () => {}, [TOP, "/etc/hostname"]],
    ["a name with a line break", (here) => writeFileSync(join(here, TOP, "a\nb"), ""), [TOP]],
    ["a name that is hidden", (here) => writeFileSync(join(here, TOP, ".a"), ""), [TOP]],
  ])("%s", async (_, fill, members) => {
    await expect(update(archiveOf(fill, ...members))).rejects.toThrow(wrong);
    expect(ran).toEqual([]);
  });

  test("more than fits", async () => {
    const folder = archiveOf((here) => truncateNew(join(here, TOP, "LICENSES"), 600 * 2 ** 20), TOP);
    await expect(update(folder)).rejects.toThrow(`${NAME} takes more than 512 MiB unpacked`);
  });

  test("nothing to unpack", async () => {
    const before = (folder: string) => writeFileSync(join(folder, NAME), "not an archive");
    await expect(update(workshop.release({ before }))).rejects.toThrow("tar --xz failed: ");
    expect(ran).toEqual([]);
  });
});

function truncateNew(file: string, bytes: number): void {
  writeFileSync(file, "");
  truncateSync(file, bytes);
}

test("an upgrade that fails before it changes anything, or has no effect, is told", async () => {
  const folder = workshop.release();
  becomes = "9.0.0";
  await expect(update(folder)).rejects.toThrow(
    "the upgrade has no effect, and this machine is back at 9.0.0; messages are above",
  );
  const spawn = () => ({ exited: Promise.resolve(100) });
  await expect(update(folder, { spawn })).rejects.toThrow("the upgrade failed (exit 100), and this machine");
  expect(ran).toHaveLength(1);
});

describe("a new version that does not work is replaced by the former one:", () => {
  const FORMER = "(private)/former install --yes";

  test.each<[string, Partial<UpdateDeps>, number, string]>([
    ["its installer fails after the copy", {}, 1, "failed (exit 1)"],
    ["its service does not answer", { isServing: dumbAt("9.2.0") }, 0, "has ended in a service that"],
  ])("%s", async (_, changes, code, why) => {
    const spawn = (argv: readonly string[]) => {
      const isFormer = argv[0]?.endsWith("/former") === true;
      if (isFormer) expect(run([argv[0] ?? "", "--version"])).toBe("portcullis 9.0.0\n");
      ran.push({
        command: argv.join(" ").replace(/^\/var\/tmp\/portcullis-[^/]+/, "(private)"),
        isProgram: true,
      });
      installs(isFormer ? "9.0.0" : "9.2.0");
      return { exited: Promise.resolve(isFormer ? 0 : code) };
    };
    const update_ = update(workshop.release(), { ...changes, spawn });
    await expect(update_).rejects.toThrow(
      new RegExp(`^the upgrade ${why.replace(/[()]/g, "\\$&")}.*, and this machine is back at 9.0.0;`),
    );
    expect(ran.map(({ command }) => command).at(-1)).toBe(FORMER);
  });

  test("not where no service answered before: an upgrade may be what helps", async () => {
    await update(workshop.release(), { isServing: async () => false });
    expect(ran).toHaveLength(1);
  });

  /** A service that answers as long as this version is not installed. */
  function dumbAt(version: string) {
    return async () => !run([installed, "--version"]).includes(version);
  }
});

describe("if the former version cannot be installed again either, the command that completes the upgrade is named:", () => {
  test.each<[string, Partial<UpdateDeps>, number, string]>([
    ["the installer fails after its copy", {}, 1, "failed (exit 1): TYPE sudo portcullis install"],
    [
      "apt goes on, but setup was refused",
      { host: machine(OLD), running: PACKAGED },
      0,
      "is not complete: TYPE sudo portcullis install",
    ],
    [
      "dpkg was interrupted",
      { host: machine({ "dpkg-query": "iHR" }), running: PACKAGED },
      100,
      "failed (exit 100): TYPE sudo dpkg --configure -a, and then the same command again",
    ],
  ])("%s", async (_, changes, code, why) => {
    const spawn = () => {
      installs("9.2.0");
      return { exited: Promise.resolve(code) };
    };
    const message = `the upgrade ${why.replace("TYPE", "the installed version is 9.2.0; its messages are above; when their cause is gone, type:")}`;
    await expect(update(workshop.release(), { ...changes, spawn })).rejects.toThrow(message);
  });
});

test("a service that runs the new program, and a package that is installed or held, need nothing", async () => {
  const done = { ...OLD, readlink: "/usr/bin/portcullis\n" };
  for (const status of ["ii ", "hi "])
    expect(await completionOf(machine({ ...done, "dpkg-query": status }), "package", "9.2.0")).toBeNull();
  expect(await completionOf(machine({ ...OLD, systemctl: "0\n" }), "archive", "9.2.0")).toBeNull();
});

test("a machine that has restarted since its setup was refused still needs it", async () => {
  const { sysctlsBefore, version } = SETUP_NOTES;
  const gateway = (note: Record<string, string>) =>
    machine({ ...OLD, readlink: "/usr/bin/portcullis\n", [sysctlsBefore]: "", ...note });
  const due = { next: "sudo portcullis install", isBroken: false };
  for (const note of [{}, { [version]: "9.0.0\n" }])
    expect(await completionOf(gateway(note), "archive", "9.2.0")).toEqual(due);
  expect(await completionOf(gateway({ [version]: "9.2.0\n" }), "archive", "9.2.0")).toBeNull();
});

test("a package is kept as it is installed: with its files, its scripts and what it says of itself", async () => {
  const folder = join(workshop.folder, "former");
  const database = join(folder, "database");
  mkdirSync(join(database, "info"), { recursive: true });
  writeFileSync(join(database, "status"), INSTALLED);
  writeFileSync(
    join(database, "info/portcullis.list"),
    `/.\n${dirname(dirname(installed))}\n${dirname(installed)}\n${installed}\n/usr/share/doc/portcullis/excluded\n`,
  );
  writeFileSync(join(database, "info/portcullis.postinst"), "#!/bin/sh\n", { mode: 0o755 });
  const inDatabase = (argv: readonly string[]) =>
    argv[0] === "dpkg-query" ? ["dpkg-query", "--admindir", database, ...argv.slice(1)] : argv;
  const there: Pick<Host, "run"> = { run: (argv, options) => host.run(inDatabase(argv), options) };
  // The program's own.
  const umask = process.umask(0o077);
  const command = await keepFormer(there, "package", installed, folder).finally(() => process.umask(umask));
  const file = command.at(-1) ?? "";
  expect(command).toEqual([
    "env",
    "DEBIAN_FRONTEND=noninteractive",
    "dpkg",
    "--force-confold",
    "--install",
    file,
  ]);
  expect(run(["dpkg-deb", "--field", file])).toBe(
    INSTALLED.replace(/Status.*\n/, "").replace(/Conffiles:\n.*\n/, ""),
  );
  run(["dpkg-deb", "--raw-extract", file, join(folder, "unpacked")]);
  expect(run([join(folder, "unpacked", installed), "--version"])).toBe("portcullis 9.0.0\n");
  const [top = ""] = run(["dpkg-deb", "--contents", file]).split("\n");
  const [program = ""] = run(["dpkg-deb", "--contents", file]).split("\n").slice(-2);
  expect([top, program]).toEqual([
    expect.stringMatching(/^drwxr-xr-x root\/root .* \.\/$/),
    expect.stringMatching(/^-rwxr-xr-x root\/root .*\/installed$/),
  ]);
  expect(readdirSync(join(folder, "unpacked/DEBIAN")).toSorted()).toEqual(["control", "postinst"]);
});

test("whoever interrupts it changes nothing", async () => {
  const interrupted = AbortSignal.abort(new Error("interrupted"));
  const folder = workshop.release();
  await expect(update(folder, { signal: interrupted })).rejects.toThrow("interrupted");
  const deps = depsFor(folder);
  const offer = await lookAt(deps);
  await expect(install({ ...deps, signal: interrupted }, offer, () => {})).rejects.toThrow("interrupted");
  expect(ran).toEqual([]);
});

test("what is named must be a release's folder or archive", async () => {
  expect(() => depsFor(join(workshop.folder, "nothing"))).toThrow("no such file or directory");
  expect(() => depsFor(workshop.key.file)).toThrow(
    `${workshop.key.file} is neither the folder of a release nor one of its archives`,
  );
});
