import type { ShownSettings } from "../../../http/settings-schema.ts";
import { say } from "../../language.ts";
import { OnGateway } from "../../parts/on-gateway.tsx";

/** What becomes of tunnels by themselves: when a server fails, and after a restart. */
export function Servers({ of: { command, failover, autoconnect } }: { of: ShownSettings }) {
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
      <OnGateway
        commands={[
          `${command} --failover ${failover ? "off" : "on"}`,
          `${command} --autoconnect ${autoconnect ? "off" : "on"}`,
        ]}
      />
      <p class="quiet">
        {say("Each takes effect at once. The service restarts for it, and the tunnels stay up.")}
      </p>
    </section>
  );
}
