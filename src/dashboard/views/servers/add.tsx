import { useState } from "preact/hooks";
import type { Static } from "typebox";
import type { KeyPair } from "../../../http/schema.ts";
import { change, read } from "../../api.ts";
import { say } from "../../language.ts";
import { Button } from "../../parts/button.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { useFields } from "../../parts/fields.ts";
import { Field, Form } from "../../parts/form.tsx";
import { Say } from "../../parts/say.tsx";
import { bodyOf, FIELDS, type FieldText, MORE_FIELDS, NOTHING } from "./fields.ts";

/** A form for a server of one's own. What the gateway refuses is shown at the field that it names. */
export function AddServer({ onClose }: { onClose: () => void }) {
  const { texts, faults, bind, set } = useFields(NOTHING);
  const add = async () => {
    await change("POST", "custom/add", bodyOf(texts));
    await change("POST", "provider/custom");
    onClose();
  };
  const inputOf = ({ name, label, hint, isOptional }: FieldText) => (
    <Field
      key={name}
      label={
        <>
          {label} {isOptional && <span class="quiet small">{say("optional")}</span>}
        </>
      }
      hint={hint}
      required={!isOptional}
      more={name === "private_key" && <NewKeys onMade={({ private_key }) => set({ private_key })} />}
      {...bind(name)}
    />
  );
  return (
    <Dialog title={say("Add a server")} onClose={onClose}>
      <Form faults={faults} work={add} submit={say("Add the server")} doing={say("Adding…")}>
        {FIELDS.map(inputOf)}
        <details open={MORE_FIELDS.some(({ name }) => faults.fault?.field === name) || undefined}>
          <summary>{say("More settings")}</summary>
          <div class="form">{MORE_FIELDS.map(inputOf)}</div>
        </details>
      </Form>
    </Dialog>
  );
}

type Keys = Static<typeof KeyPair>;

/** Makes a key pair on the gateway, for a server that one runs oneself. */
function NewKeys({ onMade }: { onMade: (keys: Keys) => void }) {
  const [made, setMade] = useState<Keys | null>(null);
  const make = async () => {
    const keys = await read<Keys>("keypair");
    setMade(keys);
    onMade(keys);
  };
  return (
    <div>
      <Button kind="plain" doing={say("Making keys…")} work={make}>
        {say("Make new keys")}
      </Button>
      {made !== null && (
        <p role="status">
          <Say
            message="Enter this public key on the server: <code>{key}</code>"
            parts={{ key: made.public_key }}
          />
        </p>
      )}
    </div>
  );
}
