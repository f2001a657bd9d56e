import type { ComponentChildren } from "preact";
import { useId, useState } from "preact/hooks";
import type { Static } from "typebox";
import type { KeyPair } from "../../../http/schema.ts";
import { useAction } from "../../action.ts";
import { change, read } from "../../api.ts";
import { Button, Outcome } from "../../parts/button.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { useFaults } from "../../parts/faults.ts";
import { Labelled, saidOf } from "../../parts/form.tsx";
import { bodyOf, FIELD_NAMES, FIELDS, type Field, type FieldName, MORE_FIELDS } from "./fields.ts";

/** A form for a server of one's own. What the gateway refuses is shown at the field that it names. */
export function AddServer({ onClose }: { onClose: () => void }) {
  const [values, setValues] = useState<Partial<Record<FieldName, string>>>({});
  const action = useAction();
  const faults = useFaults(FIELD_NAMES);
  const set = (name: FieldName, text: string) => setValues((before) => ({ ...before, [name]: text }));
  const add = async () => {
    await change("POST", "custom/add", bodyOf(values));
    await change("POST", "provider/custom");
    onClose();
  };
  const inputOf = (field: Field) => (
    <Input
      key={field.name}
      field={field}
      value={values[field.name] ?? ""}
      fault={faults.textFor(field.name)}
      onInput={(text) => set(field.name, text)}
    >
      {field.name === "private_key" && (
        <NewKeys onMade={({ private_key }) => set("private_key", private_key)} />
      )}
    </Input>
  );
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (action.running === null) action.start("add", "Adding…", faults.watched(add));
  };
  return (
    <Dialog title="Add a server" onClose={onClose}>
      <form ref={faults.form} class="form" noValidate onSubmit={submit}>
        {FIELDS.map(inputOf)}
        <details open={MORE_FIELDS.some(({ name }) => faults.fault?.field === name) || undefined}>
          <summary>More settings</summary>
          <div class="form">{MORE_FIELDS.map(inputOf)}</div>
        </details>
        {faults.fault === null && <Outcome of={action} />}
        <div class="dialog-buttons">
          <button type="button" class="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="button primary" aria-busy={action.running !== null}>
            {action.running === null ? "Add the server" : "Adding…"}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

interface InputProps {
  field: Field;
  value: string;
  /** What is wrong with it. */
  fault: string | null;
  onInput: (text: string) => void;
  children?: ComponentChildren;
}

function Input({ field, value, fault, onInput, children }: InputProps) {
  const id = useId();
  const { hint } = field;
  const label = (
    <>
      {field.label} {field.isOptional && <span class="quiet small">optional</span>}
    </>
  );
  return (
    <Labelled id={id} label={label} hint={hint} fault={fault} more={children}>
      <input
        id={id}
        class="input"
        name={field.name}
        value={value}
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        aria-required={!field.isOptional}
        aria-invalid={fault !== null}
        aria-describedby={saidOf(id, { hint, fault })}
        onInput={({ currentTarget }) => onInput(currentTarget.value)}
      />
    </Labelled>
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
      <Button kind="plain" doing="Making keys…" work={make}>
        Make new keys
      </Button>
      {made !== null && (
        <p role="status">
          Enter this public key on the server: <code>{made.public_key}</code>
        </p>
      )}
    </div>
  );
}
