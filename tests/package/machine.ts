import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

const SCRIPTS = join(import.meta.dir, "../../debian");
/** What dpkg sets (deb-postinst(5) and dpkg(1), ENVIRONMENT); /usr/local comes first. */
const PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** A machine in a folder with a shell, `rm`, `grep` and little else: its programs write down what they are told. */
export class PackagedMachine implements Disposable {
  readonly root = mkdtempSync(join(tmpdir(), "portcullis-packaged-"));

  constructor({ systemd }: { systemd: boolean }) {
    for (const program of ["/bin/sh", "/bin/rm", "/bin/grep"]) this.place(program);
    for (const name of ["/usr/bin/systemctl", "/usr/bin/portcullis"]) this.answer(name, "exit 0");
    for (const name of ["postinst", "prerm", "postrm"])
      this.put(`/${name}`, readFileSync(join(SCRIPTS, name), "utf8"), 0o755);
    if (systemd) mkdirSync(join(this.root, "run/systemd/system"), { recursive: true });
    this.isChroot(!systemd);
  }

  /** What systemd-detect-virt(1) says. */
  isChroot(is: boolean): void {
    this.put(
      "/usr/bin/systemd-detect-virt",
      `#!/bin/sh\n[ "$*" != "--quiet --chroot" ] || exit ${is ? 0 : 1}\n`,
      0o755,
    );
  }

  /** A program that writes down its words, then does `rest`, in the shell's language. */
  answer(program: string, rest: string): void {
    this.put(program, `#!/bin/sh\necho "\${0##*/} $*" >>/told\n${rest}\n`, 0o755);
  }

  put(path: string, text = "", mode = 0o644): void {
    const file = join(this.root, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text, { mode });
  }

  has(path: string): boolean {
    return existsSync(join(this.root, path));
  }

  /** Runs a maintainer script as dpkg does; says what the person sees, and what other programs were told. */
  run(script: string, ...args: string[]) {
    rmSync(join(this.root, "told"), { force: true });
    const { exitCode, stdout, stderr } = Bun.spawnSync(["chroot", this.root, `/${script}`, ...args], {
      env: { PATH, DPKG_MAINTSCRIPT_NAME: script },
    });
    const told = this.has("told")
      ? readFileSync(join(this.root, "told"), "utf8").split("\n").slice(0, -1)
      : [];
    return { code: exitCode, said: `${stdout}${stderr}`, told };
  }

  [Symbol.dispose](): void {
    rmSync(this.root, { recursive: true });
  }

  /** A program of this machine with its libraries. */
  private place(program: string): void {
    const linked = Bun.spawnSync(["ldd", program]).stdout.toString();
    for (const path of [program, ...(linked.match(/\/\S+(?= \()/g) ?? [])]) {
      mkdirSync(dirname(join(this.root, path)), { recursive: true });
      copyFileSync(path, join(this.root, path));
    }
  }
}
