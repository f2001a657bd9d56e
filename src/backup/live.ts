import { messageOf } from "../base/errors.ts";
import { nextTurn } from "../base/queue.ts";
import type { Accounts } from "../providers/accounts.ts";
import type { Store } from "../store/store.ts";
import type { Host } from "../system/host.ts";
import type { SavedState } from "../tunnel/saved-state.ts";
import type { State } from "../tunnel/state.ts";
import type { Tunnels } from "../tunnel/tunnels.ts";
import { type Contents, checkedContents, contentsOf } from "./contents.ts";
import { holdingsOf } from "./holdings.ts";
import { refused } from "./refusals.ts";
import { type Permissions, type Plan, planOf, type Restored, restoreInto } from "./restore.ts";

interface Deps {
  store: Store;
  tunnels: Tunnels;
  savedState: SavedState;
  host: Pick<Host, "now">;
  accounts: Pick<Accounts, "beside">;
  /** Makes everything that keeps something read it again. */
  reload: () => Promise<void>;
}

type Agreement = (plan: Plan) => void;

/** Backup and restore while the service runs. */
export interface LiveBackup {
  take(): Contents;
  /** What a restore would do; nothing is changed. */
  plan(contents: unknown, may: Permissions): Promise<Plan>;
  /** `agree` gets what is about to be done, and may refuse it by throwing. */
  restore(contents: unknown, may: Permissions, agree?: Agreement): Promise<Restored>;
  /** Why a restore would be refused now, whatever is in the backup; null if it would not. */
  obstacle(): string | null;
}

export function liveBackup(deps: Deps): LiveBackup {
  const { store, host, accounts } = deps;
  return {
    take: () => contentsOf(store, host.now()),
    plan: async (contents, may) => {
      const checked = await checkedContents(contents);
      const here = holdingsOf(store);
      await nextTurn();
      return planOf(here, checked, may);
    },
    restore: async (contents, may, agree = () => {}) => {
      const checked = await checkedContents(contents);
      // A new key that a provider is still being told would later overwrite what is restored.
      return accounts.beside(() => restored(deps, checked, may, agree));
    },
    obstacle: () => {
      try {
        assertDown(deps.tunnels);
        return null;
      } catch (error) {
        return messageOf(error);
      }
    },
  };
}

async function restored(
  deps: Deps,
  contents: Contents,
  may: Permissions,
  agree: Agreement,
): Promise<Restored> {
  const { store, tunnels, savedState } = deps;
  // One that never had a server is not in the store, which could give its slot to another.
  for (const tunnel of tunnels.all()) await tunnels.dropUnsaved(tunnel);
  assertDown(tunnels);
  // State that is still unsaved would later overwrite what is restored.
  savedState.save();
  savedState.assertSaved();
  const plan = planOf(holdingsOf(store), contents, may);
  agree(plan);
  const outcome = restoreInto(store, contents, may, plan);
  await deps.reload();
  return outcome;
}

/** A tunnel must not lose the server that it was made of, nor the memory of it. */
function assertDown(tunnels: Tunnels): void {
  const up = tunnels.all().find(({ controller }) => controller.isAsked || !isDown(controller.state));
  if (up === undefined) return;
  const command = up === tunnels.main ? "disconnect" : `tunnel ${up.name} disconnect`;
  throw refused("restore_while_up", { command });
}

function isDown({ name }: State): boolean {
  return name === "disconnected" || name === "failed";
}
