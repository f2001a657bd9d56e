/**
 * The changes since a version: the sections of a changelog (https://keepachangelog.com) whose versions are newer,
 * without the rest. If a text has no such sections, all of it counts as new.
 */
export function newerNotes(notes: string, than: string): string {
  const sections = notes.split(/^(?=## )/m);
  const versions = sections.map((section) => /^## \[?([0-9]+\.[0-9]+\.[0-9]+)\]?/.exec(section)?.[1] ?? null);
  if (versions.every((version) => version === null)) return notes.trim();
  return sections
    .filter((section, at) => {
      const version = versions[at] ?? null;
      return version === null ? section.startsWith("## ") : Bun.semver.order(version, than) > 0;
    })
    .join("")
    .trim();
}
