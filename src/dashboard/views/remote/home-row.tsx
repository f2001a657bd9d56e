import { useState } from "preact/hooks";
import type { HomeLink } from "../../../remote/schema.ts";
import { knownOf, useAnswer } from "../../answers.ts";
import { change, pathOf } from "../../api.ts";
import { deviceOptions } from "../../exit.ts";
import { listOf } from "../../format.ts";
import { say } from "../../language.ts";
import { AutosaveSelect } from "../../parts/autosave-select.tsx";
import { Button, FormButton } from "../../parts/button.tsx";
import { Command } from "../../parts/command.tsx";
import { Dialog, type Question } from "../../parts/dialog.tsx";
import { Form } from "../../parts/form.tsx";
import type { Option } from "../../parts/option.ts";
import { Remove, Row } from "../../parts/row.tsx";
import { useNow } from "../../traffic.ts";
import { heardText } from "./row.tsx";

const STATES: Readonly<Record<HomeLink["state"], string>> = {
  waiting: say("Waiting for its answer"),
  up: say("Online"),
  down: say("Offline"),
};

/** Another home: whether it is there, what it still has to be given, what it reaches, and what ends the link. */
export function HomeRow({ link }: { link: HomeLink }) {
  const { name: home, state, prefixes, public_key, code } = link;
  const now = useNow();
  return (
    <Row
      icon="home"
      tone={state === "up" ? "protected" : "unknown"}
      name={home}
      label={{ text: STATES[state], isGood: state === "up" }}
      facts={[
        prefixes.length > 0 && say("Its network: {prefixes}", { prefixes: listOf(prefixes) }),
        public_key !== null && heardText({ ...link, endpoint: null }, now),
      ]}
      fault={link}
      actions={
        <Remove
          label={say("Remove the link to {home}", { home })}
          work={async () => void (await change("DELETE", pathOf("links", home)))}
          title={say("Remove the link to {home}?", { home })}
          text={endOf(link)}
        />
      }
    >
      <div class="home-link">
        {code !== null && <Code link={link} code={code} />}
        {public_key !== null && <Reach link={link} />}
        {link.exit !== null && <Exit link={link} isOn={link.exit} />}
      </div>
    </Row>
  );
}

/** All that ends with the link. */
function endOf({ devices, prefixes, exit, endpoint, public_key }: HomeLink): string {
  const sentences = [
    devices.length > 0 && say("It no longer reaches {devices}.", { devices: listOf(devices.map(titleOf)) }),
    prefixes.length > 0 && say("Nothing here reaches {prefixes} any more.", { prefixes: listOf(prefixes) }),
    exit === true && say("It no longer leaves here, and is no device of yours any more."),
    endpoint !== null && say("The server that the link has made is removed, unless a tunnel uses it."),
    public_key === null && say("Its answer to the code is no longer taken."),
    say("To link the two again takes new codes."),
  ];
  return sentences.filter((each) => each !== false).join(" ");
}

/** What the other home has to be given. */
function Code({ link: { name: home, public_key }, code }: { link: HomeLink; code: string }) {
  return (
    <>
      <p>
        {public_key === null
          ? say("Take this code at {home}, then take its answer here:", { home })
          : say("Take this answer at {home}:", { home })}
      </p>
      <Command text={code} name={say("the code for {home}", { home })} />
      <p class="quiet small">
        {say("It has no secrets. Send it by any way on which nobody can exchange it for another.")}
      </p>
    </>
  );
}

/** The devices here that the other home reaches. */
function Reach({ link: { name: home, devices } }: { link: HomeLink }) {
  const [isAllowing, setAllowing] = useState(false);
  const list = knownOf(useAnswer("devices"))?.devices ?? [];
  const others = list.filter(({ id }) => !id.includes("/") && devices.every((reached) => reached.id !== id));
  return (
    <>
      <p>{devices.length === 0 ? say("It reaches nothing here.") : say("It reaches here:")}</p>
      {devices.length > 0 && (
        <ul class="reached">
          {devices.map((device) => (
            <li key={device.id}>
              <span>
                {titleOf(device)} <span class="quiet small">{device.name && device.addresses.join(" ")}</span>
              </span>
              <Button
                kind="plain"
                label={say("Deny {device} to {home}", { device: titleOf(device), home })}
                doing={say("Denying…")}
                work={async () => void (await change("DELETE", pathOf("links", home, "devices", device.id)))}
              >
                {say("Deny")}
              </Button>
            </li>
          ))}
        </ul>
      )}
      {others.length > 0 && (
        <FormButton label={say("Allow a device to {home}…", { home })} open={() => setAllowing(true)}>
          {say("Allow a device…")}
        </FormButton>
      )}
      {isAllowing && <Allow home={home} options={deviceOptions(others)} onClose={() => setAllowing(false)} />}
    </>
  );
}

function Allow(props: { home: string; options: readonly Option[]; onClose: () => void }) {
  const { home, options, onClose } = props;
  return (
    <Dialog title={say("Let {home} reach a device", { home })} onClose={onClose}>
      <Form
        of="link"
        rows={{
          device: {
            label: say("Device"),
            hint: say("Everything on the device that listens can be reached from the other home."),
            options,
          },
        }}
        work={async ({ device }) => {
          await change("PUT", pathOf("links", home, "devices", device));
          onClose();
        }}
        submit={say("Allow")}
        doing={say("Saving…")}
      />
    </Dialog>
  );
}

/** Whether the other home may leave by this one's exits. */
function Exit({ link, isOn }: { link: HomeLink; isOn: boolean }) {
  const { name: home } = link;
  return (
    <AutosaveSelect
      label={say("Whether {home} leaves here", { home })}
      value={isOn ? "on" : "off"}
      options={[
        { value: "off", text: say("It does not leave here") },
        { value: "on", text: say("It may leave here") },
      ]}
      ask={(value) => (value === "on" ? leaveQuestion(home) : null)}
      from={link}
      save={async (value) => void (await change("PATCH", pathOf("links", home), { exit: value === "on" }))}
    />
  );
}

function leaveQuestion(home: string): Question {
  return {
    title: say("Let {home} leave here?", { home }),
    text: say(
      "It becomes a device away from home, with the default exit until you choose another, and uses the internet by that. It reaches nothing more of this home.",
    ),
    confirm: say("Let it leave here"),
  };
}

function titleOf({ id, name, addresses }: HomeLink["devices"][number]): string {
  return name || (addresses[0] ?? id);
}
