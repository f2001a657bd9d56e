import { useEffect } from "preact/hooks";
import { knownOf, refresh, useAnswer } from "../answers.ts";
import { useKept } from "../kept.ts";
import { say } from "../language.ts";
import { OnlyHttps } from "../parts/only-https.tsx";
import { Pending } from "../parts/pending.tsx";
import { Addresses } from "./settings/addresses.tsx";
import { Backup } from "./settings/backup.tsx";
import { Clock } from "./settings/clock.tsx";
import { Forwards } from "./settings/forwards.tsx";
import { Group, SettingsSearch, useFound } from "./settings/groups.tsx";
import { HomeAssistant } from "./settings/home-assistant.tsx";
import { LanguageChoice } from "./settings/language-choice.tsx";
import { Line } from "./settings/line.tsx";
import { Notifications } from "./settings/notifications.tsx";
import { Owner } from "./settings/owner.tsx";
import { Ports } from "./settings/ports.tsx";
import { Quality } from "./settings/quality.tsx";
import { Restore } from "./settings/restore.tsx";
import { SentLanguage } from "./settings/sent-language.tsx";
import { Servers } from "./settings/servers.tsx";
import { Tokens } from "./settings/tokens.tsx";
import { Update } from "./settings/update.tsx";

/** What is set once and changed now and then, in groups that a link leads to: `#/settings/home`. */
export function Settings() {
  const settings = useAnswer("settings");
  const value = knownOf(settings);
  const isSecure = location.protocol === "https:";
  const [text, setText] = useKept<string>("settings", "");
  const [view, isFound] = useFound(text);
  useFreshOnReturn();
  return (
    <div class="settings" ref={view}>
      <h1>{say("Settings")}</h1>
      <SettingsSearch text={text} onText={setText} />
      {!isFound && (
        <p class="quiet" role="status">
          {say("Nothing matches “{text}”.", { text: text.trim() })}
        </p>
      )}
      {settings.state !== "ready" && <Pending of={settings} />}
      {!isSecure && (
        <OnlyHttps
          why={say(
            "Tokens, backups and the addresses of notifications must not be readable for others on the network, so these settings are shown and changed over an encrypted connection only.",
          )}
        />
      )}
      <Group id="connection">
        {value && <Servers of={value} />}
        {value && <Quality of={value} />}
        {value && <Line of={value} />}
      </Group>
      <Group id="home">
        <Forwards />
        {value && <Addresses of={value} />}
        {isSecure && <Ports />}
        {value && <Clock zone={value.time_zone} />}
      </Group>
      <Group id="messages">
        {isSecure && <Notifications />}
        {value && <SentLanguage of={value} />}
        {value && <HomeAssistant of={value} />}
      </Group>
      <Group id="gateway">
        <LanguageChoice />
        {isSecure && <Tokens />}
        {isSecure && <Backup />}
        {isSecure && <Restore />}
        {value && <Update of={value} />}
      </Group>
      {isSecure && (
        <Group id="owner">
          <Owner />
        </Group>
      )}
    </div>
  );
}

/** Whoever has typed a command comes back to see what it did, and not each has an event. */
function useFreshOnReturn(): void {
  useEffect(() => {
    const look = () => void refresh("settings");
    addEventListener("focus", look);
    return () => removeEventListener("focus", look);
  }, []);
}
