import { faultOf, knownOf, useAnswer } from "./answers.ts";
import type { Known } from "./sentence.ts";
import { servedSentence } from "./served.ts";
import { connection } from "./store.ts";
import { hasSent } from "./traffic.ts";

/** All that the state of the home is judged by; the same wherever it is told. */
export function useKnown(): Known {
  const killswitch = useAnswer("killswitch");
  const tunnels = useAnswer("tunnels");
  const devices = useAnswer("devices");
  return {
    connection: connection.value,
    served: servedSentence(),
    status: knownOf(useAnswer("status")),
    tunnels: knownOf(tunnels)?.tunnels ?? null,
    devices: knownOf(devices),
    killswitch: knownOf(killswitch),
    unread: faultOf(killswitch),
    unlisted: faultOf(tunnels) ?? faultOf(devices),
    network: knownOf(useAnswer("network")),
    destinations: knownOf(useAnswer("destinations"))?.destinations ?? null,
    haveSent: hasSent.value,
  };
}
