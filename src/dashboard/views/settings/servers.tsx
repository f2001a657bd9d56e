import type { ShownSettings } from "../../../http/settings-schema.ts";
import { change } from "../../api.ts";
import { say } from "../../language.ts";
import { Button } from "../../parts/button.tsx";

/** What becomes of tunnels by themselves: when a server fails, and after a restart. */
export function Servers({ of: { failover, autoconnect } }: { of: ShownSettings }) {
  return (
    <section class="card words">
      <h2>{say("Failures and restarts")}</h2>
      <p>
        {say(
          failover
            ? "If a server has been dead for a minute, or has carried nothing, another one of its city or country takes its place."
            : "If a server is dead, the gateway waits until it is back. Nothing leaves meanwhile.",
        )}
      </p>
      <p>
        {say(
          autoconnect
            ? "After a restart, the gateway connects to the last server again."
            : "After a restart, the gateway waits until somebody connects. Nothing leaves before that.",
        )}
      </p>
      <div class="card-buttons">
        <Button doing={say("Saving…")} work={() => change("PUT", "settings", { failover: !failover })}>
          {say(failover ? "Wait for a dead server" : "Replace a dead server")}
        </Button>
        <Button doing={say("Saving…")} work={() => change("PUT", "settings", { autoconnect: !autoconnect })}>
          {say(autoconnect ? "Do not connect after a restart" : "Connect after a restart")}
        </Button>
      </div>
    </section>
  );
}
