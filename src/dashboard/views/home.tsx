import { faultOf, knownOf, useAnswer } from "../answers.ts";
import type { Known } from "../sentence.ts";
import { connection } from "../store.ts";
import { Alerts } from "./home/alerts.tsx";
import { ByExit } from "./home/by-exit.tsx";
import { Layers } from "./home/layers.tsx";
import { MainTunnel } from "./home/main-tunnel.tsx";
import { State } from "./home/state.tsx";
import { TrafficNow } from "./home/traffic-now.tsx";
import { useFirstRun } from "./setup/first-run.ts";

/** Whether the home is protected, at a glance; then by what, and what happened. */
export function Home() {
  useFirstRun();
  const tunnels = useAnswer("tunnels");
  const devices = useAnswer("devices");
  const killswitch = useAnswer("killswitch");
  const events = useAnswer("events");
  const known: Known = {
    connection: connection.value,
    status: knownOf(useAnswer("status")),
    tunnels: knownOf(tunnels)?.tunnels ?? null,
    devices: knownOf(devices),
    killswitch: knownOf(killswitch),
    unread: faultOf(killswitch),
    network: knownOf(useAnswer("network")),
    destinations: knownOf(useAnswer("destinations"))?.destinations ?? null,
  };
  return (
    <div class="home">
      <State known={known} events={knownOf(events)} recent={knownOf(useAnswer("favourites"))?.recent ?? []} />
      <TrafficNow />
      <MainTunnel tunnels={tunnels} />
      <Layers killswitch={killswitch} />
      <ByExit devices={devices} tunnels={known.tunnels ?? []} others={known.network?.other_routers ?? []} />
      <Alerts events={events} />
    </div>
  );
}
