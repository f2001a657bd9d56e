import type { ComponentChildren } from "preact";
import { useId, useRef, useState } from "preact/hooks";
import type { Static } from "typebox";
import type { KeyPair } from "../../../http/schema.ts";
import { useAction } from "../../action.ts";
import { change, read } from "../../api.ts";
import { Button, Outcome } from "../../parts/button.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Icon } from "../../parts/icon.tsx";
import { bodyOf, type Fault, FIELDS, type Field, type FieldName, faultIn, MORE_FIELDS } from "./fields.ts";

/** A form for a server of one's own. What the gateway refuses is shown at the field that it names. */
export function AddServer({ onClose }: { onClose: () => void }) {
  const [values, setValues] = useState<Partial<Record<FieldName, string>>>({});
  const form = useRef<HTMLFormElement>(null);
  const action = useAction();
  const [fault, setFault] = useState<Fault | null>(null);
  const set = (name: FieldName, text: string) => setValues((before) => ({ ...before, [name]: text }));
  const add = async () => {
    setFault(null);
    try {
      await change("POST", "custom/add", bodyOf(values));
    } catch (error) {
      const found = faultIn(error instanceof Error ? error.message : "");
      if (found !== null) focusOn(form.current, found.field);
      setFault(found);
      throw error;
    }
    await change("POST", "provider/custom");
    onClose();
  };
  const inputOf = (field: Field) => (
    <Input
      key={field.name}
      field={field}
      value={values[field.name] ?? ""}
      fault={fault?.field === field.name ? fault.text : null}
      onInput={(text) => set(field.name, text)}
    >
      {field.name === "private_key" && (
        <NewKeys onMade={({ private_key }) => set("private_key", private_key)} />
      )}
    </Input>
  );
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (action.running === null) action.start("add", "Adding…", add);
  };
  return (
    <Dialog title="Add a server" onClose={onClose}>
      <form ref={form} class="form" noValidate onSubmit={submit}>
        {FIELDS.map(inputOf)}
        <details open={MORE_FIELDS.some(({ name }) => fault?.field === name) || undefined}>
          <summary>More settings</summary>
          <div class="form">{MORE_FIELDS.map(inputOf)}</div>
        </details>
        {fault === null && <Outcome of={action} />}
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
  const about = [fault !== null && `${id}-fault`, field.hint !== undefined && `${id}-hint`].filter(Boolean);
  return (
    <div class="field">
      <label for={id}>
        {field.label} {field.isOptional && <span class="quiet small">optional</span>}
      </label>
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
        aria-describedby={about.length > 0 ? about.join(" ") : undefined}
        onInput={({ currentTarget }) => onInput(currentTarget.value)}
      />
      {fault !== null && (
        <p id={`${id}-fault`} class="outcome failed">
          <Icon name="warning" /> {fault}
        </p>
      )}
      {field.hint !== undefined && (
        <p id={`${id}-hint`} class="quiet small">
          {field.hint}
        </p>
      )}
      {children}
    </div>
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

/** After the fault is drawn, so that screen readers read it with the field. */
function focusOn(form: HTMLFormElement | null, name: FieldName): void {
  requestAnimationFrame(() => form?.querySelector<HTMLInputElement>(`[name="${name}"]`)?.focus());
}
