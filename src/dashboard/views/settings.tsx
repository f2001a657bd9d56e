import { useEffect } from "preact/hooks";
import { refresh, useAnswer } from "../answers.ts";
import { say } from "../language.ts";
import { OnlyHttps } from "../parts/only-https.tsx";
import { Pending } from "../parts/pending.tsx";
import { Addresses } from "./settings/addresses.tsx";
import { Backup } from "./settings/backup.tsx";
import { Clock } from "./settings/clock.tsx";
import { Forwards } from "./settings/forwards.tsx";
import { HomeAssistant } from "./settings/home-assistant.tsx";
import { LanguageChoice } from "./settings/language-choice.tsx";
import { Line } from "./settings/line.tsx";
import { Notifications } from "./settings/notifications.tsx";
import { Quality } from "./settings/quality.tsx";
import { Restore } from "./settings/restore.tsx";
import { SentLanguage } from "./settings/sent-language.tsx";
import { Servers } from "./settings/servers.tsx";
import { Tokens } from "./settings/tokens.tsx";
import { Update } from "./settings/update.tsx";

/** What is set once and changed now and then. */
export function Settings() {
  const isSecure = location.protocol === "https:";
  return (
    <div class="settings">
      <h1>{say("Settings")}</h1>
      {!isSecure && (
        <OnlyHttps
          why={say(
            "Tokens, backups and the addresses of notifications must not be readable for others on the network, so these settings are shown and changed over an encrypted connection only.",
          )}
        />
      )}
      {isSecure && <Notifications />}
      <Forwards />
      <LanguageChoice />
      <OfRoot />
      {isSecure && (
        <>
          <Tokens />
          <Backup />
          <Restore />
        </>
      )}
    </div>
  );
}

/** What root has set, of which some is changed here. */
function OfRoot() {
  const settings = useAnswer("settings");
  useFreshOnReturn();
  if (settings.state !== "ready") return <Pending of={settings} />;
  const { value } = settings;
  return (
    <>
      <Servers of={value} />
      <Quality of={value} />
      <Line of={value} />
      <Addresses of={value} />
      <SentLanguage of={value} />
      <Clock zone={value.time_zone} />
      <HomeAssistant of={value} />
      <Update of={value} />
    </>
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
