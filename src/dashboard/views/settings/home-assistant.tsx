import { useState } from "preact/hooks";
import type { ShownBroker, ShownSettings } from "../../../http/settings-schema.ts";
import { sentenceFrom } from "../../../shared/words.ts";
import { useOwner } from "../../access.ts";
import { inItsWords } from "../../codes.ts";
import { say } from "../../language.ts";
import { Field } from "../../parts/field.tsx";
import { Icon } from "../../parts/icon.tsx";
import { OnDemand } from "../../parts/on-demand.tsx";
import { OnGateway } from "../../parts/on-gateway.tsx";
import { SettingButton } from "../../parts/setting-button.tsx";
import { Told } from "../../parts/told.tsx";

/** Whether Home Assistant sees the gateway by MQTT, and what changes that. */
export function HomeAssistant({ of: { mqtt, command } }: { of: ShownSettings }) {
  return (
    <section class="card words">
      <h2>Home Assistant</h2>
      {mqtt === null ? <TurnOn command={command} /> : <Broker of={mqtt} command={command} />}
    </section>
  );
}

function Broker({ of: { broker, tls, commands, connected, error }, command }: BrokerProps) {
  const isOwner = useOwner() !== null;
  return (
    <>
      <p class={connected ? "outcome" : "outcome failed"}>
        <Icon name={connected ? "good" : "warning"} />{" "}
        <span>
          {connected ? connectedText(broker, tls) : unconnectedText(broker, tls)}
          {error !== null && (
            <>
              {" "}
              <Told text={inItsWords(sentenceFrom(error))} />
            </>
          )}
        </span>
      </p>
      <p>
        {say(
          commands
            ? "Home Assistant, and whoever else may publish at the broker, can connect tunnels and choose exits."
            : "Home Assistant sees the gateway, and changes nothing.",
        )}
      </p>
      <OnGateway
        commands={[`${command} --mqtt-commands ${commands ? "off" : "on"}`, `${command} --mqtt ""`]}
        forOwner={
          <div class="card-buttons">
            <SettingButton set={{ mqtt_commands: !commands }}>
              {commands ? say("Let it change nothing") : say("Let it connect tunnels and choose exits")}
            </SettingButton>
            <SettingButton set={{ mqtt: "" }}>{say("End the connection")}</SettingButton>
          </div>
        }
      />
      {!isOwner && <p class="quiet">{say("The second one ends the connection.")}</p>}
    </>
  );
}

function connectedText(broker: string, isEncrypted: boolean): string {
  return say(
    isEncrypted
      ? "Connected to the broker {broker}, encrypted."
      : "Connected to the broker {broker}, not encrypted.",
    { broker },
  );
}

function unconnectedText(broker: string, isEncrypted: boolean): string {
  return say(
    isEncrypted
      ? "Not connected to the broker {broker}, encrypted."
      : "Not connected to the broker {broker}, not encrypted.",
    { broker },
  );
}

interface BrokerProps {
  of: ShownBroker;
  command: string;
}

/** What a shell takes as it is. */
const PLAIN = /^[A-Za-z0-9._-]+$/;
const PLACE = /^[A-Za-z0-9._-]+(:[1-9][0-9]{0,4})?$/;

function TurnOn({ command }: { command: string }) {
  const [place, setPlace] = useState("");
  const [name, setName] = useState("");
  const isOwner = useOwner() !== null;
  const broker = PLACE.test(place.trim()) ? place.trim() : "192.168.1.10";
  const user = PLAIN.test(name.trim()) ? name.trim() : "portcullis";
  return (
    <>
      <p class="quiet">
        {say(
          "Home Assistant can show this gateway, and control it if you allow that, by the MQTT broker that it uses. The gateway needs a user there.",
        )}
      </p>
      <OnDemand text={say("Connect to a broker…")}>
        <Field
          label={say("Address of the broker")}
          hint={say("On your network, such as 192.168.1.10.")}
          value={place}
          onValue={setPlace}
        />
        <Field
          label={say("User at the broker")}
          hint={say("Such as portcullis.")}
          value={name}
          onValue={setName}
        />
        <OnGateway
          commands={[
            "cat >mqtt.password",
            `${command} --mqtt mqtt://${user}@${broker} --mqtt-password-file "$PWD/mqtt.password"`,
            "rm mqtt.password",
          ]}
          forOwner={<Connect address={`mqtt://${user}@${broker}`} />}
        />
        {!isOwner && (
          <p class="quiet">
            {say(
              "After the first command, type the password, Enter and Ctrl+D: that keeps it out of every command history.",
            )}
          </p>
        )}
      </OnDemand>
    </>
  );
}

function Connect({ address }: { address: string }) {
  const [password, setPassword] = useState("");
  const set = { mqtt: address, ...(password !== "" && { mqtt_password: password }) };
  return (
    <>
      <Field label={say("Password at the broker")} type="password" value={password} onValue={setPassword} />
      <SettingButton set={set}>{say("Connect to the broker")}</SettingButton>
    </>
  );
}
