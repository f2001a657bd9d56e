import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { jsonIn } from "../base/checker.ts";
import { type GatewayError, messageOf } from "../base/errors.ts";
import type { Host } from "./host.ts";
import { ACCESS_POINT_NAMESPACE, OWN_LAYOUT } from "./layout.ts";
import { refused } from "./refusals.ts";

/** Two at once would change the same files; systemd refuses the second of a name. It does not end with the service. */
const CHANGE = ["--unit=portcullis-change", "--no-block"];
/** Of another name, because systemd may still know it when the change begins. */
const CHECK = ["--unit=portcullis-change-check"];
/**
 * The access point of a first start. It ends with the service, but is there again after a restart of that, which closes it.
 * At the latest it ends soon after the minutes in which the gateway may be claimed.
 */
const ACCESS_POINT = ["--unit=portcullis-access-point", "--no-block"];
const ACCESS_POINT_PROPERTIES = [
  ...["BindsTo=portcullis.service", "RuntimeMaxSec=15min", "RuntimeDirectory=portcullis-access-point"],
  // Last: then its Wi-Fi card is this machine's again.
  `ExecStopPost=-/usr/sbin/ip netns delete ${ACCESS_POINT_NAMESPACE}`,
];
/** A release may come from far away, and setup looks for other DHCP servers. */
const ENDS_WITHIN_MS = 100_000;
/** `portcullis update --check` has found a newer release. */
const IS_NEWER = 4;

/**
 * Has systemd run this program as root types it: the service may not write below `/etc`, and is restarted by what it
 * starts. Texts that are secret go by a file, because anyone can read a command line.
 */
export class RootCommands {
  private isBusy = false;

  constructor(
    private readonly host: Pick<Host, "run" | "read">,
    private readonly stateDir: string,
    /** Null if this is not the installed program: then its setup would change another machine than it serves. */
    private readonly program = process.execPath === OWN_LAYOUT.program ? OWN_LAYOUT.program : null,
  ) {}

  /**
   * Tries what `setup` would do, and throws why it would not; then starts it. The service is restarted soon after.
   * `assertMay` throws if the client has lost the right to it meanwhile.
   */
  setUp(flags: readonly string[], assertMay: () => void, mqttPassword?: string): Promise<void> {
    return this.alone(async () => {
      // Of its own, because a change from before may still read its file.
      const file = join(this.stateDir, `mqtt-password-${crypto.randomUUID()}`);
      const isSecret = mqttPassword !== undefined;
      const words = [
        OWN_LAYOUT.command,
        "--yes",
        ...flags,
        ...(isSecret ? ["--mqtt-password-file", file] : []),
      ];
      if (isSecret) await writeFile(file, `${mqttPassword}\n`, { mode: 0o600 });
      try {
        await this.run([...words, "--dry-run"]);
        assertMay();
        await this.start(words, isSecret ? [`ExecStopPost=-/bin/rm -f ${file}`] : []);
      } catch (error) {
        await rm(file, { force: true });
        throw error;
      }
    });
  }

  /** What a release has, as `update --check --json` prints it. */
  checkUpdate(place: string): Promise<string> {
    return this.alone(() => this.run(["update", place, "--check", "--json"]));
  }

  /** Starts the update to it. The service is restarted soon after. */
  update(place: string): Promise<void> {
    return this.alone(() => this.start(["update", place, "--yes"]));
  }

  /**
   * Gives the network ports of a flashed gateway their roles. The service is restarted soon after. Whatever ends it before it
   * is done, they get their former roles.
   */
  assignPorts({ uplink, lans }: { uplink: string; lans: readonly string[] }): Promise<void> {
    const otherwise = [`ExecStopPost=${this.program} restore-ports`, "TimeoutStopSec=10min"];
    return this.alone(() => this.start(["assign-ports", uplink, ...lans], otherwise));
  }

  /** Ends a change of them that a power cut has left half done. */
  restorePorts(): Promise<void> {
    return this.alone(() => this.start(["restore-ports"]));
  }

  /** Opens a Wi-Fi on which devices reach the gateway's page and nothing else. */
  openAccessPoint(radio: string): Promise<void> {
    return this.start(["access-point", radio], ACCESS_POINT_PROPERTIES, ACCESS_POINT);
  }

  async closeAccessPoint(): Promise<void> {
    const stop = ["systemctl", "stop", "portcullis-access-point.service"];
    await this.host.run(stop, { timeoutMs: ENDS_WITHIN_MS }).catch((error: unknown) => {
      // One that has failed is gone.
      if (!messageOf(error).includes("not loaded")) throw error;
    });
  }

  /** Waits for its end, and returns what it has printed. */
  private async run(words: readonly string[]): Promise<string> {
    const [out, err] = [join(this.stateDir, "change.out"), join(this.stateDir, "change.err")];
    // A plan has the settings, and addresses of notifications are secret.
    const forget = () => Promise.all([out, err].map((file) => rm(file, { force: true })));
    await forget();
    const files = [`StandardOutput=truncate:${out}`, `StandardError=truncate:${err}`];
    try {
      await this.start(words, [...files, "Type=oneshot", `SuccessExitStatus=${IS_NEWER}`], CHECK);
      return (await this.host.read(out)) ?? "";
    } catch (error) {
      // With --json, the reason is on standard output.
      const text = (await this.host.read(err)) || (await this.host.read(out)) || "";
      throw refusalIn(reasonIn(text) ?? messageOf(error), words);
    } finally {
      await forget();
    }
  }

  private async start(
    words: readonly string[],
    properties: readonly string[] = [],
    flags: readonly string[] = CHANGE,
  ): Promise<void> {
    if (this.program === null) throw refused("not_installed");
    const given = ["UMask=0077", ...properties].map((each) => `--property=${each}`);
    const unit = ["systemd-run", "--quiet", "--collect", ...flags, ...given];
    try {
      await this.host.run([...unit, "--", this.program, ...words], { timeoutMs: ENDS_WITHIN_MS });
    } catch (error) {
      throw flags === CHANGE && (await this.isChanging()) ? refused("root_busy") : error;
    }
  }

  /** A change goes on after the service has started again: setup may still be waiting for the DHCP server. */
  async isChanging(): Promise<boolean> {
    const unit = "portcullis-change.service";
    const state = await this.host
      .run(["systemctl", "show", "-P", "ActiveState", unit])
      .catch(() => "inactive");
    return !["inactive", "failed"].includes(state.trim());
  }

  private async alone<T>(work: () => Promise<T>): Promise<T> {
    if (this.isBusy) throw refused("root_busy");
    this.isBusy = true;
    try {
      return await work();
    } finally {
      this.isBusy = false;
    }
  }
}

/** A value that a flag of `words` has is the client's fault: the flag is the field of its request. */
function refusalIn(reason: string, words: readonly string[]): GatewayError {
  const [all, flag = ""] = /^(--[a-z-]+)(?: \([A-Z_]+\))?: /.exec(reason) ?? [];
  if (all === undefined || !words.includes(flag)) return refused("root_refused", { reason });
  const field = flag.slice(2).replaceAll("-", "_");
  return refused("root_refused", { field, reason: reason.slice(all.length) }, { code: "bad_request" });
}

/** The last line, without the name of the program; null without one. */
function reasonIn(text: string): string | null {
  const line = text.trim().split("\n").at(-1) ?? "";
  const { error } = (jsonIn(line) ?? {}) as { error?: string };
  return (error ?? line.replace(/^(portcullis|error): /, "")) || null;
}
