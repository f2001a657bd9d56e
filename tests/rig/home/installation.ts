import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { settingsFrom } from "../../../src/base/settings.ts";
import { filesByHand, machineOf, remainsIn } from "../../../src/install/machine.ts";
import { KILL_SWITCH_UNIT, PATHS } from "../../../src/install/paths.ts";
import { installPlan } from "../../../src/install/plan.ts";
import { carryOut } from "../../../src/install/run.ts";
import { takeBack } from "../../../src/install/uninstall.ts";
import { unitsFor } from "../../../src/install/units.ts";
import { BOOT_FILES, BOOT_FOLDER } from "../../../src/killswitch/boot-files.ts";
import type { RunOptions } from "../../../src/system/host.ts";
import { BY_HAND, type Layout, PACKAGED } from "../../../src/system/layout.ts";
import { NamespaceHost } from "../../namespace-host.ts";
import type { Gateway, Lab } from "../tools/lab.ts";

/** The lab's gateway as a machine that is installed on: its files in a folder, its systemd played here. */
export class Installation extends NamespaceHost {
  readonly root: string;
  /** The service, once systemd has been told to start it. */
  gateway: Gateway | null = null;
  /** What systemd was told. */
  readonly told: string[] = [];
  private readonly program: string;
  private readonly settings;

  constructor(private readonly lab: Lab) {
    super(lab.namespaces.gateway);
    this.root = mkdtempSync(join(lab.sandbox.directory, "root-"));
    this.program = join(lab.sandbox.directory, "program");
    const { interface: base, lan, uplink } = lab.sandbox;
    this.settings = settingsFrom({ interface: base, lan, uplink });
  }

  /** `release` is what the program's file holds. */
  async install(release: string): Promise<void> {
    writeFileSync(this.program, release);
    await this.carryOut(BY_HAND);
  }

  /** What dpkg places, then `setup`. */
  async setUp(release: string): Promise<void> {
    const put = (path: string, text: string) => {
      mkdirSync(dirname(join(this.root, path)), { recursive: true });
      writeFileSync(join(this.root, path), text);
    };
    put(PACKAGED.program, release);
    for (const [name, text] of Object.entries(unitsFor(PACKAGED.program)))
      put(join(PACKAGED.units, name), text);
    await this.carryOut(PACKAGED);
  }

  async uninstall(): Promise<void> {
    const base = this.settings.interface;
    const sysctlsBefore = readFileSync(join(this.root, PATHS.sysctlsBefore), "utf8");
    const units = ["portcullis.service", KILL_SWITCH_UNIT];
    const remains = { ...(await remainsIn(this, base)), units };
    await takeBack(
      {
        machine: { sysctlsBefore },
        remains,
        forwarders: [],
        keepState: false,
        byHand: filesByHand(this.root),
      },
      base,
      this.surroundings,
    );
  }

  /** What the unit's file says, as systemd does it when the machine boots. */
  async boot(): Promise<void> {
    const units = [BY_HAND, PACKAGED].map((layout) => join(this.root, layout.units, KILL_SWITCH_UNIT));
    const unit = readFileSync(units.find(existsSync) ?? "", "utf8");
    for (const [, mayFail, line = ""] of unit.matchAll(/^ExecStart=(-?)(.+)$/gm)) {
      const argv = [...line.matchAll(/'([^']*)'|(\S+)/g)].map(
        ([, quoted, word = ""]) => quoted ?? this.placed(word),
      );
      await super
        .run([(argv[0] ?? "").replace("/usr/sbin/", ""), ...argv.slice(1)])
        .catch((error: unknown) => {
          if (mayFail === "") throw error;
        });
    }
  }

  /** What a disk may do to the files that boot reads. */
  damage(): void {
    const folder = join(this.root, PATHS.state, BOOT_FOLDER);
    writeFileSync(join(folder, BOOT_FILES.firewall), "damaged\n");
    for (const name of [BOOT_FILES.rules4, BOOT_FILES.rules6]) rmSync(join(folder, name));
  }

  override async run(argv: readonly string[], options: RunOptions = {}): Promise<string> {
    if (argv[0] !== "systemctl") {
      return super.run(
        argv.map((word) => this.placed(word)),
        options,
      );
    }
    const words = argv.slice(1).join(" ");
    this.told.push(words);
    if (words === `start ${KILL_SWITCH_UNIT}`) await this.startOnce();
    if (words === "restart portcullis.service") await this.restart();
    if (words.startsWith("disable --now")) await this.gateway?.kill("SIGTERM");
    return "";
  }

  private async carryOut(layout: Layout): Promise<void> {
    const machine = await machineOf(this, this.settings);
    const noted = join(this.root, PATHS.sysctlsBefore);
    const sysctlsBefore = (await Bun.file(noted).exists()) ? readFileSync(noted, "utf8") : null;
    const plan = installPlan({
      ...{ machine: { ...machine, sysctlsBefore, byHand: filesByHand(this.root) }, given: {} },
      ...{ layout, program: this.program, version: "1.2.3", packages: [] },
    });
    await carryOut(plan, this.surroundings);
  }

  /** A file of the installation, where it is here. */
  private placed(word: string): string {
    return word.startsWith(PATHS.state) ? join(this.root, word) : word;
  }

  private get surroundings() {
    return { host: this, root: this.root, say: () => {} };
  }

  /** RemainAfterExit: a unit that has run is started no second time. */
  private async startOnce(): Promise<void> {
    if (this.told.filter((words) => words === `start ${KILL_SWITCH_UNIT}`).length === 1) await this.boot();
  }

  private async restart(): Promise<void> {
    if (this.gateway !== null) return this.gateway.restart();
    const state = join(this.root, PATHS.state);
    mkdirSync(state, { recursive: true });
    this.gateway = await this.lab.startGateway({ flags: ["--state-dir", state] });
  }
}
