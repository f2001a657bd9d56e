import type { Alerts } from "../journal/alerts.ts";
import { Accounts } from "../providers/accounts.ts";
import { applyAccount } from "../providers/apply-account.ts";
import { isManagedInUse } from "../providers/in-use.ts";
import type { Send } from "../system/host.ts";
import type { Base, ServerParts } from "./server-parts.ts";
import type { TunnelParts } from "./tunnel-parts.ts";

type Needs = Base & ServerParts & TunnelParts;
export type AccountParts = ReturnType<typeof accountPartsOn>;

/** The operator's accounts at providers. */
export function accountPartsOn(needs: Needs) {
  const { host, tunnels, savedState, alerts } = needs;
  /** The same, with providers contacted through `send`, for a command while no service runs. */
  const accountsBy = (send: Send, alarm: Alerts["raise"]): Accounts =>
    new Accounts({
      ...{ ...needs, clock: host, send, alarm },
      inUse: () => isManagedInUse(tunnels.all(), savedState),
      apply: () => applyAccount(needs),
    });
  return { accountsBy, accounts: accountsBy(tunnels.httpsClient.send, alerts.raise) };
}
