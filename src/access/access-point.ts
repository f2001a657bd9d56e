import { messageOf } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import type { Texts } from "../base/saved.ts";
import { portsIn, radiosIn } from "../network/ports.ts";
import type { Host } from "../system/host.ts";
import { showAddresses } from "../system/ip.ts";
import { refused } from "../system/refusals.ts";
import type { RootCommands } from "../system/root-commands.ts";
import type { Claim } from "./claim.ts";
import { hasOwner } from "./tokens.ts";

const LOOK_EVERY_MS = 5_000;
/** Some turn a gateway on before they plug its cable in. */
const NO_CABLE_MS = 60_000;
/** In which the Wi-Fi card has left this machine's network, or the access point could not open. */
const OPENS_WITHIN_MS = 30_000;
/** Why an access point ends, and how long after. With the owner there is time to read what comes next. */
const LASTS_MS = { owner: 120_000, over: LOOK_EVERY_MS, cable: LOOK_EVERY_MS, failed: OPENS_WITHIN_MS };

interface Deps {
  host: Pick<Host, "run" | "listed" | "monotonic" | "sleep">;
  claim: Pick<Claim, "state">;
  store: Pick<Texts, "read">;
  log: Pick<Log, "info" | "warn">;
}

type Root = Pick<RootCommands, "openAccessPoint" | "closeAccessPoint">;

/**
 * Decides when a flashed gateway that nobody has claimed yet, and that has no cable, opens its own Wi-Fi to be claimed
 * there, and when that ends: with a cable, soon after the claim, or with the claim's minutes. Then it stays closed.
 */
export class AccessPoint {
  private isClosing = false;

  constructor(private readonly deps: Deps) {}

  /** Throws while it closes, so that nobody becomes the owner whom the answer with the token does not reach. */
  assertQuiet(): void {
    if (this.isClosing) throw refused("root_busy");
  }

  async watch(root: Root, signal: AbortSignal): Promise<void> {
    const { host, log, claim } = this.deps;
    if (claim.state === "none") return;
    // Systemd starts it again with the service, which may have an owner by now, or a cable. No device is in it yet.
    await this.close(root, signal, false);
    while (!signal.aborted && this.mayBeClaimed) {
      const why = await this.open(root, signal);
      // With the service, it ends by itself.
      if (signal.aborted || why === null) return;
      await this.close(root, signal, true);
      log.info("the access point has ended");
      if (why !== "failed") return;
      await host.sleep(LOOK_EVERY_MS, signal);
    }
  }

  /** Why it is to end, once it is; null if it is not needed. */
  private async open(root: Root, signal: AbortSignal): Promise<keyof typeof LASTS_MS | null> {
    const { log } = this.deps;
    try {
      const radio = await this.radioToUse(signal);
      if (radio === null) return null;
      log.info(`no network port has a cable: ${radio} opens an access point`);
      await root.openAccessPoint(radio);
      const why = await this.ending(radio, signal);
      if (why === "failed")
        log.warn("the access point did not open; why: journalctl -u portcullis-access-point");
      return why;
    } catch (error) {
      log.warn(`the access point: ${messageOf(error)}`);
      return "failed";
    }
  }

  /** Until that works: nothing else would end it as soon. */
  private async close(root: Root, signal: AbortSignal, isUsed: boolean): Promise<void> {
    const { host, log } = this.deps;
    for (; !signal.aborted; await host.sleep(LOOK_EVERY_MS, signal)) {
      this.isClosing = isUsed;
      try {
        return await root.closeAccessPoint();
      } catch (error) {
        log.warn(`the access point could not be closed: ${messageOf(error)}`);
      } finally {
        this.isClosing = false;
      }
    }
  }

  private get mayBeClaimed(): boolean {
    return this.deps.claim.state === "open" && !hasOwner(this.deps.store);
  }

  /** The Wi-Fi card, once there was no cable for long enough; null once it is not needed any more. */
  private async radioToUse(signal: AbortSignal): Promise<string | null> {
    const { host } = this.deps;
    let since = host.monotonic();
    for (; !signal.aborted && this.mayBeClaimed; await host.sleep(LOOK_EVERY_MS, signal)) {
      const { radios, isPlugged } = await this.look();
      const [radio] = radios;
      if (isPlugged) since = host.monotonic();
      else if (radio !== undefined && host.monotonic() - since >= NO_CABLE_MS) return radio;
    }
    return null;
  }

  /** Why it ends, once that has been so for long enough: a plug may have slipped, and a claim may be under way. */
  private async ending(radio: string, signal: AbortSignal): Promise<keyof typeof LASTS_MS | null> {
    const { host } = this.deps;
    let [former, since] = [null as keyof typeof LASTS_MS | null, host.monotonic()];
    for (; !signal.aborted; await host.sleep(LOOK_EVERY_MS, signal)) {
      const why = await this.reason(radio);
      if (why !== former) [former, since] = [why, host.monotonic()];
      if (why !== null && host.monotonic() - since >= LASTS_MS[why]) return why;
    }
    return null;
  }

  private async reason(used: string): Promise<keyof typeof LASTS_MS | null> {
    const { claim, store } = this.deps;
    const { radios, isPlugged } = await this.look();
    // As long as it is open, the card is in a network namespace of its own.
    if (radios.includes(used)) return "failed";
    if (hasOwner(store)) return "owner";
    if (claim.state !== "open") return "over";
    return isPlugged ? "cable" : null;
  }

  private async look(): Promise<{ radios: string[]; isPlugged: boolean }> {
    const addresses = await showAddresses(this.deps.host);
    return {
      radios: radiosIn({ addresses }),
      isPlugged: portsIn({ addresses }).some((each) => each.hasCarrier),
    };
  }
}
