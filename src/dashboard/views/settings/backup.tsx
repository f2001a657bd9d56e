import { useState } from "preact/hooks";
import type { BackupFile } from "../../../http/backup-schema.ts";
import { useOwner } from "../../access.ts";
import { knownOf, useAnswer } from "../../answers.ts";
import { change } from "../../api.ts";
import { say } from "../../language.ts";
import { Form } from "../../parts/form.tsx";
import { Icon } from "../../parts/icon.tsx";
import { passphraseFault } from "../../parts/new-passphrase.ts";
import { useObjectUrl } from "../../parts/object-url.ts";
import { OnDemand } from "../../parts/on-demand.tsx";
import { OnGateway } from "../../parts/on-gateway.tsx";

/** A file with everything that a new gateway needs. */
export function Backup() {
  const auth = knownOf(useAnswer("access"))?.auth;
  const isOwner = useOwner() !== null;
  const [made, setMade] = useState<string | null>(null);
  return (
    <section class="card words">
      <h2>{say("Backup")}</h2>
      <p class="quiet">
        {say(
          "The servers with their keys, the account, tunnels, devices, forwarded ports, remote access, schedules and settings, in a file that only your passphrase opens. Tokens and the addresses of notifications are not in it.",
        )}
      </p>
      {auth === "off" && !isOwner && <FromTheGateway />}
      {auth !== undefined && (auth !== "off" || isOwner) && <Make onMade={setMade} />}
      {made !== null && <Save text={made} />}
    </section>
  );
}

/** While everyone may do everything, anyone could take the keys. */
function FromTheGateway() {
  return (
    <>
      <p>
        {say(
          "No token is needed here, so anyone on the network could take the keys. Until you turn tokens on, only root can make a backup.",
        )}
      </p>
      <OnGateway commands={["sudo portcullis export >backup.json"]} />
    </>
  );
}

function Make({ onMade }: { onMade: (text: string | null) => void }) {
  return (
    <OnDemand text={say("Make a backup…")}>
      <Form<"backup", "again">
        of="backup"
        rows={{
          passphrase: {
            label: say("Passphrase of the backup"),
            hint: say("Without it, nobody can read the file, not even you."),
            type: "password",
          },
          again: { label: say("Once more"), type: "password", required: true },
        }}
        check={passphraseFault}
        work={async ({ passphrase }) => {
          onMade(null);
          const file = await change<BackupFile>("POST", "backup", { passphrase });
          onMade(`${JSON.stringify(file, null, 1)}\n`);
        }}
        submit={say("Make a backup")}
        doing={say("Encrypting…")}
      />
    </OnDemand>
  );
}

function Save({ text }: { text: string }) {
  const url = useObjectUrl(text);
  const day = new Date().toISOString().slice(0, "2026-01-02".length);
  return (
    <div class="card-buttons" role="status">
      {url !== null && (
        <a class="button primary" href={url} download={`portcullis-${day}.json`}>
          <Icon name="down" /> {say("Save the backup")}
        </a>
      )}
    </div>
  );
}
