import { useState } from "preact/hooks";
import type { PortsChange, ShownPorts } from "../../../access/schema.ts";
import { useOwner } from "../../access.ts";
import { knownOf, useAnswer } from "../../answers.ts";
import { change } from "../../api.ts";
import { listOf } from "../../format.ts";
import { say } from "../../language.ts";
import { Button } from "../../parts/button.tsx";
import { FaultText, Select } from "../../parts/field.tsx";
import { RESTARTS } from "../../parts/setting-button.tsx";
import { lansWith } from "../../ports.ts";

/** Which network ports of a flashed gateway lead to the router, and which to devices. */
export function Ports() {
  const isOwner = useOwner() !== null;
  const shown = knownOf(useAnswer("owner/ports", isOwner));
  if (!isOwner || shown === null || shown.ports.length < 2) return null;
  return <Roles of={shown} />;
}

function Roles({ of: { ports, failed, ...now } }: { of: ShownPorts }) {
  const names = ports.map(({ name }) => name);
  const [uplink, setUplink] = useState(now.uplink ?? "eth0");
  const [chosen, setLan] = useState(now.lan.join());
  const lans = lansWith(uplink, names, now.lan);
  const lan = lans.includes(chosen) ? chosen : (lans[0] ?? uplink);
  return (
    <section class="card words">
      <h2>{say("Network ports")}</h2>
      <FaultText id="ports-failed" text={failed} />
      <Select
        label={say("Uplink")}
        value={uplink}
        onValue={(name) => {
          setUplink(name);
          setLan("");
        }}
        options={names.map((name) => ({ value: name, text: name }))}
      />
      <Select
        label={say("Ports of the devices")}
        value={lan}
        onValue={setLan}
        options={lans.map((each) => ({ value: each, text: each.replaceAll(",", ", ") }))}
      />
      <Change key={`${uplink} ${lan}`} to={{ uplink, lan: lan.split(",") }} />
    </section>
  );
}

/** What follows from it, before it is done. */
function Change({ to }: { to: { uplink: string; lan: string[] } }) {
  const [found, setFound] = useState<PortsChange["after"] | null>(null);
  const ask = (preview: boolean) => change<PortsChange>("PUT", "owner/ports", { ...to, preview });
  return (
    <>
      <Button doing={say("Checking…")} work={async () => setFound((await ask(true)).after)}>
        {say("Look at the change")}
      </Button>
      {found !== null && (
        <>
          <p>
            {say(
              "The page is at {pages} then, and devices get their addresses from {dhcp, select, true {the gateway} other {the home router}}. Until they have new ones, nothing works. If the uplink gets no address within a minute, the gateway goes back.",
              { pages: listOf(found.pages), dhcp: String(found.dhcp) },
            )}
          </p>
          <Button
            kind="primary"
            doing={say("Checking…")}
            work={async () => {
              await ask(false);
              return RESTARTS;
            }}
          >
            {say("Change the ports")}
          </Button>
        </>
      )}
    </>
  );
}
