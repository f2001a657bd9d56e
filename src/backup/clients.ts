import type { Alarm } from "../base/alert.ts";
import { messageOf } from "../base/errors.ts";
import { type Change, changeText } from "../base/saved.ts";
import type {
  AgreedRestore,
  BackupFile,
  Backups,
  RestorePreview,
  RestoreRequest,
  RestoreResult,
} from "../http/backup-schema.ts";
import { type Client, nameOf } from "../http/client.ts";
import { parseJson } from "../http/json.ts";
import { LEAST_PASSPHRASE_CHARACTERS, MAX_BACKUP_BYTES } from "../shared/bounds.ts";
import { type Contents, checkedContents } from "./contents.ts";
import { encrypted, openedFrom } from "./envelope.ts";
import type { LiveBackup } from "./live.ts";
import { refused } from "./refusals.ts";
import { type Permissions, type Plan, refuseRoots } from "./restore.ts";

interface Deps {
  live: LiveBackup;
  alarm: Alarm;
}

/** A client that has seen what a restore replaces may confirm it; only root may let traffic or strangers pass. */
const MAY: Permissions = { replace: true, killswitchOff: false, direct: false };
const ON_THE_GATEWAY = "on the gateway: sudo portcullis restore <backup.json";

/** Backups and restores for clients of the interface. One at a time: each takes 128 MiB. */
export class ClientBackups implements Backups {
  private isBusy = false;

  constructor(private readonly deps: Deps) {}

  take(passphrase: string, client: Client): Promise<BackupFile> {
    return this.alone(async () => {
      if ([...passphrase].length < LEAST_PASSPHRASE_CHARACTERS)
        throw refused("passphrase_short", { min: LEAST_PASSPHRASE_CHARACTERS });
      const text = await encrypted(this.deps.live.take(), passphrase);
      if (text.length > MAX_BACKUP_BYTES / 2)
        throw refused("backup_too_large", { command: "sudo portcullis export >backup.json" });
      this.deps.alarm("backup_taken", { by: nameOf(client) });
      return JSON.parse(text);
    });
  }

  preview(given: RestoreRequest): Promise<RestorePreview> {
    return this.alone(async () => {
      const { live } = this.deps;
      const contents = await contentsIn(given);
      const plan = await live.plan(contents, MAY);
      const { changes } = plan;
      return {
        created: contents.created,
        changes: changes.map(changeText),
        refused: refusalOf(plan) ?? live.obstacle(),
        agreed: digestOf(changes),
      };
    });
  }

  restore(given: AgreedRestore, client: Client): Promise<RestoreResult> {
    return this.alone(async () => {
      const contents = await contentsIn(given);
      const restored = await this.deps.live.restore(contents, MAY, (plan) => {
        const refusal = refusalOf(plan);
        if (refusal !== null) throw refused("restore_for_root", { reason: refusal });
        if (digestOf(plan.changes) !== given.agreed) throw refused("restore_changed");
      });
      this.deps.alarm("backup_restored", { created: contents.created, by: nameOf(client) });
      return restored;
    });
  }

  private async alone<T>(work: () => Promise<T>): Promise<T> {
    if (this.isBusy) throw refused("backup_busy");
    this.isBusy = true;
    try {
      return await work();
    } finally {
      this.isBusy = false;
    }
  }
}

/** Null if it decides nothing that is root's. */
function refusalOf(plan: Plan): string | null {
  try {
    refuseRoots(plan);
    return null;
  } catch (error) {
    return `only root can restore this, ${ON_THE_GATEWAY}: ${messageOf(error)}`;
  }
}

async function contentsIn({ backup, passphrase }: RestoreRequest): Promise<Contents> {
  const given = async () => {
    if (passphrase === undefined) throw refused("passphrase_missing");
    return passphrase;
  };
  return checkedContents(await openedFrom(backup, given, parseJson));
}

function digestOf(changes: readonly Change[]): string {
  return new Bun.CryptoHasher("sha256").update(JSON.stringify(changes)).digest("hex");
}
