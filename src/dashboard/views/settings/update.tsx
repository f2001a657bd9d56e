import { useState } from "preact/hooks";
import type { UpdateOffer } from "../../../http/owner.ts";
import type { ShownSettings } from "../../../http/settings-schema.ts";
import { change } from "../../api.ts";
import { say } from "../../language.ts";
import { Button } from "../../parts/button.tsx";
import { Field } from "../../parts/field.tsx";
import { Icon } from "../../parts/icon.tsx";
import { OnDemand } from "../../parts/on-demand.tsx";
import { OnGateway } from "../../parts/on-gateway.tsx";
import { Say } from "../../parts/say.tsx";

/** What a shell takes as it is. */
const PLACE = /^https:\/\/[A-Za-z0-9.:/_-]+$/;

/** The version that runs, and how another one gets here. */
export function Update({ of: { version, command, upgrade } }: { of: ShownSettings }) {
  const [release, setRelease] = useState("");
  const given = release.trim();
  const isPlace = PLACE.test(given);
  const place = isPlace ? given.replace(/\/*$/, "/") : "https://example.org/portcullis/1.2.3/";
  return (
    <section class="card words">
      <h2>{say("Update")}</h2>
      <p>
        <Say
          message="Portcullis <strong>{version}</strong> runs. It never looks for updates by itself."
          parts={{ version }}
        />
      </p>
      {upgrade !== null && (
        <>
          <p class="outcome failed">
            <Icon name="warning" /> <span>{upgrade}</span>
          </p>
          <OnGateway commands={[command]} />
        </>
      )}
      <OnDemand text={say("Look at a release…")}>
        <Field
          label={say("Address of a release")}
          hint={say("The folder and its files, from whoever gave you Portcullis.")}
          value={release}
          onValue={setRelease}
          fault={
            given === "" || isPlace ? null : say("It must begin with https://, and have no spaces or quotes.")
          }
        />
        <OnGateway
          commands={[`sudo portcullis update ${place} --check`, `sudo portcullis update ${place}`]}
          forOwner={isPlace && <Release key={place} place={place} />}
        />
        <p class="quiet">
          {say(
            "The first one verifies the signature, shows what is new and changes nothing. The second one does the same, and then asks whether to upgrade. The download goes through the tunnel, the kill switch stays in place, and open connections go on.",
          )}
        </p>
      </OnDemand>
    </section>
  );
}

/** What a release has, before it is installed. */
function Release({ place }: { place: string }) {
  const [offer, setOffer] = useState<UpdateOffer | null>(null);
  const ask = (install: boolean) => change<UpdateOffer>("POST", "owner/update", { release: place, install });
  const look = async () => {
    const found = await ask(false);
    setOffer(found);
    if (found.newer) return;
    return say("{offered} is not newer than {current}.", { offered: found.offered, current: found.current });
  };
  const install = async () => {
    await ask(true);
    return say("The gateway downloads it, and restarts with it.");
  };
  return (
    <>
      <Button doing={say("Checking…")} work={look}>
        {say("Look at this release")}
      </Button>
      {offer?.newer && (
        <>
          {offer.notes !== "" && <pre class="quiet">{offer.notes}</pre>}
          <Button kind="primary" doing={say("Checking…")} work={install}>
            {say("Install {version}", { version: offer.offered })}
          </Button>
        </>
      )}
    </>
  );
}
