import { useState } from "preact/hooks";
import type { Provider, Transport } from "../../../servers/schema.ts";
import { MAX_BACK_MINUTES, MAX_TARGETS } from "../../../shared/bounds.ts";
import type { MoveWhen } from "../../../tunnel/order.ts";
import type { TunnelRow } from "../../../tunnel/schema.ts";
import type { Action } from "../../action.ts";
import { knownOf, useAnswer } from "../../answers.ts";
import { change, pathOf } from "../../api.ts";
import { say } from "../../language.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { type Faults, useFaults } from "../../parts/faults.ts";
import { Field, Select } from "../../parts/field.tsx";
import { FormFrame } from "../../parts/form-frame.tsx";
import { Icon } from "../../parts/icon.tsx";
import { Ordered } from "../../parts/ordered.tsx";
import { PROVIDER_TITLES } from "../../titles.ts";
import { TRANSPORT_CHOICES } from "../../transport-texts.ts";
import {
  bodyOf,
  type Draft,
  type DraftTarget,
  draftOf,
  edited,
  faultIn,
  fieldOf,
  lengthened,
  nameOf,
  newForm,
  settled,
  whatChanges,
} from "./order-draft.ts";
import { PROVIDERS, ServerField } from "./server-field.tsx";

interface TargetsInOrderProps {
  row: TunnelRow;
  action: Action;
  onClose: () => void;
}

/** Asks for a tunnel's targets in their order, and stays open until it is connected or the reason why not is shown. */
export function TargetsInOrder({ row, action, onClose }: TargetsInOrderProps) {
  const current = knownOf(useAnswer("servers/counts"))?.current ?? "managed";
  const [{ draft, told }, setForm] = useState(() => newForm(draftOf(row, current)));
  const { targets } = draft;
  const faults = useFaults((error) => faultIn(error, targets));
  const set = (some: Partial<Draft>) => setForm((before) => edited(before, some));
  const settle = () => setForm(settled);
  const setRows = (rows: Draft["targets"]) => {
    set({ targets: rows });
    settle();
  };
  const lead = async () => {
    await change("PUT", pathOf("tunnels", row.name), bodyOf(draft));
    onClose();
    return say("The {tunnel, select, main {main tunnel} other {tunnel {tunnel}}} is connected.", {
      tunnel: row.name,
    });
  };
  return (
    <Dialog
      title={say("Targets of the {tunnel, select, main {main tunnel} other {tunnel {tunnel}}}", {
        tunnel: row.name,
      })}
      onClose={onClose}
    >
      <FormFrame
        action={action}
        faults={faults}
        work={lead}
        submit={say("Connect")}
        doing={say("Connecting…")}
      >
        <p class="quiet">
          {say(
            "A server, or a city or a country for the nearest server there. If a target stops answering, the others are tried, the best first.",
          )}
        </p>
        <div onChange={settle}>
          <Ordered
            label={say("Targets, the best first")}
            rows={targets}
            onRows={setRows}
            keyOf={({ key }) => key}
            nameOf={nameOf}
            least={2}
            draw={(target, at) => (
              <Target
                of={target}
                number={at + 1}
                textFor={faults.textFor}
                onChange={(some) => set({ targets: targets.with(at, { ...target, ...some }) })}
              />
            )}
          />
        </div>
        {targets.length < MAX_TARGETS && (
          <button type="button" class="button ordered-add" onClick={() => setRows(lengthened(targets))}>
            <Icon name="add" /> {say("Add a target")}
          </button>
        )}
        <Rules of={draft} onChange={set} />
        <div class="changes" role="status" aria-atomic="false">
          {whatChanges(row, told).map((text) => (
            <p key={text}>{text}</p>
          ))}
        </div>
      </FormFrame>
    </Dialog>
  );
}

/** The fields that are folded away. */
const HOW = ["provider", "transport", "via"] as const;

interface TargetProps {
  of: DraftTarget;
  number: number;
  textFor: Faults<string>["textFor"];
  onChange: (some: Partial<DraftTarget>) => void;
}

/** A target's server or place; whose servers these are and how they are reached is mostly the same for all. */
function Target({ of: target, number, textFor, onChange }: TargetProps) {
  const { provider, server, via, transport } = target;
  const bind = (field: Parameters<typeof fieldOf>[1]) => {
    const name = fieldOf(target, field);
    return { name, fault: textFor(name) };
  };
  const isWrong = HOW.some((field) => bind(field).fault !== null);
  const way = TRANSPORT_CHOICES.find(({ value }) => value === transport)?.text ?? "";
  const how = [PROVIDER_TITLES[provider], way, ...(via === "" ? [] : [say("via {via}", { via })])].join(
    " · ",
  );
  return (
    <div class="target">
      <ServerField
        label={say("Target {number}", { number })}
        provider={provider}
        value={server}
        onValue={(text) => onChange({ server: text })}
        {...bind("server")}
      />
      <details open={isWrong || undefined}>
        <summary class="small" aria-label={say("Target {number}: {how}", { number, how })}>
          {how}
        </summary>
        <div class="form">
          <Select
            label={say("Servers for target {number} from", { number })}
            value={provider}
            onValue={(value: Provider) => onChange({ provider: value })}
            options={PROVIDERS}
            {...bind("provider")}
          />
          <Select
            label={say("How to reach target {number}", { number })}
            value={transport}
            onValue={(value: Transport) => onChange({ transport: value })}
            options={TRANSPORT_CHOICES}
            {...bind("transport")}
          />
          <ServerField
            label={say("Reach target {number} through", { number })}
            hint={say("Empty: directly.")}
            provider={provider}
            value={via}
            onValue={(text) => onChange({ via: text })}
            isOptional
            {...bind("via")}
          />
        </div>
      </details>
    </div>
  );
}

const STATES: readonly (readonly [MoveWhen, string])[] = [
  ["slow", say("when it is slow")],
  ["lossy", say("when it loses packets")],
];

/** When the tunnel leaves a target, and when it goes back to a better one. */
function Rules({ of: draft, onChange }: { of: Draft; onChange: (some: Partial<Draft>) => void }) {
  const { back, whenQuiet, moveWhen } = draft;
  return (
    <>
      <fieldset class="field week">
        <legend>{say("The tunnel leaves a target when it is dead, and")}</legend>
        <div class="choices">
          {STATES.map(([state, text]) => (
            <label key={state} class="day-choice">
              <input
                type="checkbox"
                checked={moveWhen.includes(state)}
                onInput={({ currentTarget: { checked } }) =>
                  onChange({
                    moveWhen: moveWhen.filter((each) => each !== state).concat(checked ? [state] : []),
                  })
                }
              />
              {text}
            </label>
          ))}
        </div>
        <p class="quiet small">
          {say("Once another target answers meanwhile. The quality of tunnels must be measured for this.")}
        </p>
      </fieldset>
      <Field
        label={say("Try a better target again after, in minutes")}
        hint={say("0: never automatically.")}
        type="number"
        required
        min={0}
        max={MAX_BACK_MINUTES}
        value={back}
        onValue={(text) => onChange({ back: text })}
      />
      {back !== "0" && (
        <Select
          label={say("Try it")}
          value={whenQuiet ? "quiet" : "always"}
          onValue={(value) => onChange({ whenQuiet: value === "quiet" })}
          options={[
            { value: "always", text: say("At any time") },
            { value: "quiet", text: say("Only when there is little traffic") },
          ]}
        />
      )}
    </>
  );
}
