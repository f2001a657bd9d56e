import { useId, useState } from "preact/hooks";
import type { Explanation } from "../../../destinations/schema.ts";
import { knownOf, useAnswer } from "../../answers.ts";
import { read } from "../../api.ts";
import { inItsWords } from "../../codes.ts";
import { exitName, titleOf } from "../../exit.ts";
import { someOf } from "../../format.ts";
import { say } from "../../language.ts";
import { useFaults } from "../../parts/faults.ts";
import { Field, Form, Select } from "../../parts/form.tsx";
import { Icon } from "../../parts/icon.tsx";
import { Told } from "../../parts/told.tsx";

/** Answers by which exit a device reaches a destination, and why. */
export function Why() {
  const devices = knownOf(useAnswer("devices"))?.devices ?? [];
  const [chosen, setChosen] = useState<string | null>(null);
  const [name, setName] = useState("");
  const [found, setFound] = useState<Explanation | null>(null);
  const known = useId();
  const rules = knownOf(useAnswer("destinations"))?.destinations ?? [];
  const targets = new Set(rules.flatMap((rule) => [...rule.names, ...rule.prefixes]));
  const faults = useFaults(["device", "name"]);
  const device = chosen ?? devices[0]?.id ?? "";
  const explain = async () => {
    setFound(null);
    const query = new URLSearchParams({ device, name: name.trim() });
    setFound(await read<Explanation>(`destinations/explain?${query}`));
  };
  return (
    <section class="card why-card">
      <h2>{say("Why does it go there?")}</h2>
      <Form faults={faults} work={explain} submit={say("Explain")} doing={say("Asking…")} isForAll>
        <Select
          label={say("Device")}
          name="device"
          value={device}
          onValue={setChosen}
          fault={faults.textFor("device")}
          options={devices.map((each) => ({ value: each.id, text: titleOf(each) }))}
        />
        <Field
          label={say("Name or address")}
          name="name"
          value={name}
          onValue={setName}
          fault={faults.textFor("name")}
          list={known}
          hint={say("Such as www.example.com or 203.0.113.7.")}
          required
        />
        <datalist id={known}>
          {[...targets].map((each) => (
            <option key={each} value={each} />
          ))}
        </datalist>
      </Form>
      <div role="status">{found !== null && <Answer of={found} />}</div>
    </section>
  );
}

function Answer({ of: { device, destination, exit, open, why, advice, addresses } }: { of: Explanation }) {
  const who = device.name || device.id;
  return (
    <div class={`why-answer row tone-${open ? "protected" : "blocked"}`}>
      <Icon name={open ? "shield" : "blocked"} />
      <div>
        <p>
          <strong>
            {open
              ? say("{who} reaches {destination} through the exit {exit}.", {
                  who,
                  destination,
                  exit: exitName(exit),
                })
              : say("{who} does not reach {destination} now.", { who, destination })}
          </strong>
        </p>
        <p>
          <Told text={inItsWords(why)} />
        </p>
        {addresses.length > 0 && (
          <p class="quiet small">
            {say("Its addresses now: {addresses}.", { addresses: someOf(addresses) })}
          </p>
        )}
        {advice !== null && (
          <p class="quiet">
            <Told text={inItsWords(advice)} />
          </p>
        )}
      </div>
    </div>
  );
}
