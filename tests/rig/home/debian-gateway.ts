import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { machineIn } from "../../../src/sandbox/namespace.ts";
import type { Lab, Ran } from "../tools/lab.ts";
import { OWN } from "./home-client.ts";

/** Not in /tmp, which may be in memory: `setup` refuses a machine that forgets. */
const FOLDER = "/var/tmp";

/**
 * The lab's gateway as a Debian machine that the package is installed on: this machine's programs, below folders that are
 * its own. All of it is real but systemd, whose `systemctl` is a script, because a namespace has no systemd.
 */
export class DebianGateway {
  readonly root: string;
  private readonly folder = mkdtempSync(join(FOLDER, "portcullis-machine-"));
  private child: Bun.Subprocess | null = null;

  private constructor(private readonly lab: Lab) {
    this.root = join(this.folder, "root");
  }

  /** `environment` is what systemd gives the service beside its settings. */
  static async start(lab: Lab, environment: Readonly<Record<string, string>> = {}): Promise<DebianGateway> {
    const gateway = new DebianGateway(lab);
    const put = (path: string, text: string, mode: number) => {
      const file = join(gateway.folder, path);
      mkdirSync(join(file, ".."), { recursive: true });
      writeFileSync(file, text, { mode });
    };
    put("usr/bin/systemctl", SYSTEMCTL, 0o755);
    put("usr/share/environment", lines(environment), 0o644);
    put("machine", MACHINE, 0o755);
    const log = openSync(join(gateway.folder, "log"), "w", 0o600);
    const argv = [...OWN, "bash", join(gateway.folder, "machine"), gateway.folder];
    gateway.child = Bun.spawn(machineIn(lab.namespaces.gateway, argv), {
      stdin: "ignore",
      stdout: "pipe",
      stderr: log,
    });
    closeSync(log);
    const reader = (gateway.child.stdout as ReadableStream<Uint8Array>).getReader();
    const { value } = await reader.read();
    if (value === undefined) throw new Error(readFileSync(join(gateway.folder, "log"), "utf8"));
    return gateway;
  }

  /** A command line as a person types it there, who is root. */
  type(line: string): Promise<Ran> {
    const first = Bun.spawnSync(["pgrep", "-P", `${this.child?.pid}`])
      .stdout.toString()
      .trim();
    const inside = ["nsenter", "--target", first, "--mount", "--uts", "--net", "--pid", "--root", "--wd"];
    const environment = ["env", "-i", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"];
    return this.lab.outside([...inside, ...environment, "bash", "-c", line]);
  }

  /** What the service has printed. */
  log(): string {
    return readFileSync(join(this.root, "var/log/portcullis.log"), "utf8");
  }

  async close(): Promise<void> {
    this.child?.kill("SIGKILL");
    await this.child?.exited;
    rmSync(this.folder, { recursive: true, force: true });
  }
}

function lines(environment: Readonly<Record<string, string>>): string {
  return Object.entries(environment)
    .map(([name, value]) => `${name}=${value}\n`)
    .join("");
}

/** Its folders: Debian's own below an overlay, copies of the settings, and nothing of this machine's state but dpkg's. */
const MACHINE = `set -e
folder=$1 root=$1/root
mkdir -p $folder/overlay/usr $folder/overlay/dpkg $folder/dpkg
mkdir -p $root/usr $root/dev $root/proc $root/sys $root/tmp $root/root $root/run/systemd/system $root/run/wireguard
mkdir -p $root/var/lib/dpkg $root/var/lib/misc $root/var/log $root/var/cache
ln -s /run $root/var/run
for name in bin sbin lib lib64; do ! [ -L /$name ] || cp -a /$name $root/; done
mount -t overlay -o lowerdir=/usr,upperdir=$folder/usr,workdir=$folder/overlay/usr overlay $root/usr
mount -t overlay -o lowerdir=/var/lib/dpkg,upperdir=$folder/dpkg,workdir=$folder/overlay/dpkg overlay $root/var/lib/dpkg
cp -a /etc $root/etc
rm -rf $root/etc/portcullis*
mount --rbind /dev $root/dev
mount --rbind /sys $root/sys
mount -t proc proc $root/proc
# The first process, which the others end with, and which takes leave of those that nobody waits for.
exec chroot $root bash -c 'echo ready; exec >/dev/null; while :; do sleep 3600 & wait $!; done'
`;

/** systemd for this package's units: it does what their files say, one after the other, and refuses what it does not know. */
const SYSTEMCTL = `#!/bin/bash
echo "$*" >>/var/log/systemctl
units=/usr/lib/systemd/system
case "$*" in
daemon-reload | "restart systemd-modules-load.service") ;;
enable\\ *)
  mkdir -p /etc/systemd/system/multi-user.target.wants
  for unit in "\${@:2}"; do ln -sf $units/$unit /etc/systemd/system/multi-user.target.wants/$unit; done
  ;;
"start portcullis-killswitch.service")
  ! [ -e /run/killswitch ] || exit 0
  touch /run/killswitch
  grep ^ExecStart= $units/portcullis-killswitch.service | while IFS= read -r line; do
    line=\${line#ExecStart=}
    eval "\${line#-}" || case $line in -*) ;; *) exit 1 ;; esac
  done
  ;;
"restart portcullis.service")
  if [ -e /run/portcullis.pid ]; then
    kill "$(cat /run/portcullis.pid)"
    while [ -e "/proc/$(cat /run/portcullis.pid)/exe" ]; do sleep 0.1; done
  fi
  mkdir -p -m 700 /var/lib/portcullis
  program=$(sed -n 's/^ExecStart=//p' $units/portcullis.service)
  set -a
  . /usr/share/environment
  . /etc/portcullis/portcullis.env
  set +a
  setsid $program >>/var/log/portcullis.log 2>&1 </dev/null &
  echo $! >/run/portcullis.pid
  for _ in $(seq 600); do
    ! curl -sf http://127.0.0.1:5000/health >/dev/null || exit 0
    sleep 0.1
  done
  exit 1
  ;;
*)
  echo "systemctl: $*: not known here" >&2
  exit 1
  ;;
esac
`;
