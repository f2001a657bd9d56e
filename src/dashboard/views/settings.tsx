import { OnlyHttps } from "../parts/only-https.tsx";
import { Backup } from "./settings/backup.tsx";
import { Notifications } from "./settings/notifications.tsx";
import { Restore } from "./settings/restore.tsx";
import { Tokens } from "./settings/tokens.tsx";

/** What is set once and changed now and then. */
export function Settings() {
  return (
    <div class="settings">
      <h1>Settings</h1>
      {location.protocol === "https:" ? (
        <>
          <Notifications />
          <Tokens />
          <Backup />
          <Restore />
        </>
      ) : (
        <OnlyHttps why="Tokens, backups and the addresses of notifications must not be readable for others on the network, so these settings are shown and changed over an encrypted connection only." />
      )}
    </div>
  );
}
