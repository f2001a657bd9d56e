import { knownOf, useAnswer } from "../answers.ts";
import { useKnown } from "../known.ts";
import { Alerts } from "./home/alerts.tsx";
import { Layers } from "./home/layers.tsx";
import { MainTunnel } from "./home/main-tunnel.tsx";
import { State } from "./home/state.tsx";
import { TrafficNow } from "./home/traffic-now.tsx";
import { YourHome } from "./home/your-home.tsx";
import { useFirstRun } from "./setup/first-run.ts";

/** Whether the home is protected, at a glance; then by what, and what happened. */
export function Home() {
  useFirstRun();
  const tunnels = useAnswer("tunnels");
  const devices = useAnswer("devices");
  const killswitch = useAnswer("killswitch");
  const events = useAnswer("events");
  const known = useKnown();
  // What the state asks for once it is known comes with the first answers.
  useAnswer("schedules");
  return (
    <div class="home">
      <State known={known} events={knownOf(events)} recent={knownOf(useAnswer("favourites"))?.recent ?? []} />
      <YourHome devices={devices} tunnels={tunnels} others={known.network?.other_routers ?? []} />
      <TrafficNow />
      <MainTunnel tunnels={tunnels} />
      <Layers killswitch={killswitch} />
      <Alerts events={events} />
    </div>
  );
}
