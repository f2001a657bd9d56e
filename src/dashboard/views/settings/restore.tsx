import { useState } from "preact/hooks";
import type { RestorePreview, RestoreResult } from "../../../http/backup-schema.ts";
import { MAX_BACKUP_BYTES } from "../../../shared/bounds.ts";
import { useMayChange } from "../../access.ts";
import { type Action, useAction } from "../../action.ts";
import { refreshAll } from "../../answers.ts";
import { change } from "../../api.ts";
import { timeOf } from "../../format.ts";
import { say } from "../../language.ts";
import { Button, Outcome } from "../../parts/button.tsx";
import { Form } from "../../parts/form.tsx";
import { Icon } from "../../parts/icon.tsx";
import { OnGateway } from "../../parts/on-gateway.tsx";
import { Trouble } from "../../parts/trouble.tsx";

/** A backup that was chosen; it stays in this tab. */
interface Chosen {
  name: string;
  /** As it was read: an object with `keys`, or anything else. */
  backup: object;
  isEncrypted: boolean;
}

/** What is asked for with both requests. */
interface Given {
  backup: object;
  passphrase?: string;
}

/** Shows everything that a backup would change, before it is restored. */
export function Restore() {
  const action = useAction();
  const [chosen, setChosen] = useState<Chosen | null>(null);
  const [shown, setShown] = useState<{ given: Given; preview: RestorePreview } | null>(null);
  const choose = (file: File) => {
    setShown(null);
    setChosen(null);
    action.start("choose", say("Reading…"), async () => setChosen(await readBackup(file)));
  };
  const end = () => {
    setShown(null);
    setChosen(null);
  };
  return (
    <section class="card words">
      <h2>{say("Restore")}</h2>
      <p class="quiet">
        {say(
          "The page first shows everything that a backup changes here; everything else stays. Tunnels must be disconnected.",
        )}
      </p>
      <Outcome of={action} />
      <ChooseFile choose={choose} />
      {chosen !== null && shown === null && (
        <Look key={chosen.name} chosen={chosen} onShown={(given, preview) => setShown({ given, preview })} />
      )}
      {shown !== null && <Preview {...shown} action={action} onEnd={end} />}
    </section>
  );
}

function ChooseFile({ choose }: { choose: (file: File) => void }) {
  const mayChange = useMayChange();
  return (
    <div class="card-buttons">
      <label class="button file" aria-disabled={!mayChange}>
        <Icon name="file" /> {say("Choose a backup…")}
        <input
          type="file"
          class="hidden"
          disabled={!mayChange}
          onChange={({ currentTarget }) => {
            const [file] = currentTarget.files ?? [];
            // So that the same file can be chosen again.
            if (file !== undefined) choose(file);
            currentTarget.value = "";
          }}
        />
      </label>
    </div>
  );
}

async function readBackup(file: File): Promise<Chosen> {
  if (file.size > MAX_BACKUP_BYTES)
    throw new Error(
      say("{file} is too large for the page. Restore it on the gateway: {command}", {
        file: file.name,
        command: "sudo portcullis restore",
      }),
    );
  const backup = parsed(await file.text());
  if (typeof backup !== "object" || backup === null || !("keys" in backup))
    throw new Error(say("{file} is not a backup of Portcullis.", { file: file.name }));
  return { name: file.name, backup, isEncrypted: backup.keys === "encrypted" };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function Look(props: { chosen: Chosen; onShown: (given: Given, preview: RestorePreview) => void }) {
  const { backup, name, isEncrypted } = props.chosen;
  return (
    <>
      <p>{name}</p>
      <Form
        of="restore"
        rows={{
          passphrase: isEncrypted && { label: say("Its passphrase"), type: "password", required: true },
        }}
        work={async ({ passphrase }) => {
          const given = { backup, ...(passphrase !== undefined && { passphrase }) };
          props.onShown(given, await change<RestorePreview>("POST", "restore/preview", given));
        }}
        submit={say("Show what it changes")}
        doing={say("Reading…")}
      />
    </>
  );
}

interface PreviewProps {
  given: Given;
  preview: RestorePreview;
  action: Action;
  onEnd: () => void;
}

function Preview({ given, preview: { created, changes, refused, agreed }, action, onEnd }: PreviewProps) {
  const restore = async () => {
    const { servers, devices } = await change<RestoreResult>("POST", "restore", { ...given, agreed });
    onEnd();
    void refreshAll();
    return say(
      "Restored: {servers, plural, one {# server} other {# servers}}, {devices, plural, one {# device} other {# devices}} and the settings.",
      { servers, devices },
    );
  };
  return (
    <>
      <h3>{say("The backup of {time}", { time: timeOf(created) })}</h3>
      {changes.length === 0 ? (
        <p>{say("It changes nothing.")}</p>
      ) : (
        <>
          <p>{say("It changes the following; everything else stays as it is:")}</p>
          <ul class="changes">
            {changes.map((each) => (
              <li key={each}>{each}</li>
            ))}
          </ul>
        </>
      )}
      <Trouble of={{ error: refused }} />
      {/^only root/.test(refused ?? "") && <OnGateway commands={["sudo portcullis restore <backup.json"]} />}
      <div class="card-buttons">
        {refused === null && changes.length > 0 && (
          <Button
            kind="danger"
            action={action}
            doing={say("Restoring…")}
            work={restore}
            ask={{
              title: say("Restore this backup?"),
              text: say(
                "{count, plural, one {# change} other {# changes}}, as listed. What is replaced here cannot be brought back unless you make a backup of it first.",
                { count: changes.length },
              ),
              confirm: say("Restore"),
            }}
          >
            {say("Restore it")}
          </Button>
        )}
        <button type="button" class="button" onClick={onEnd}>
          {say("Do not restore")}
        </button>
      </div>
    </>
  );
}
