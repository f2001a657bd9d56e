import { statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { CommandError, type GatewayError, messageOf } from "../base/errors.ts";
import { download } from "../system/download.ts";
import type { HttpsAnswer, HttpsRequest, PinnedRequest } from "../system/host.ts";
import { takeCopy } from "../system/private-folder.ts";
import { archiveOf } from "./archive.ts";

/** The place of a release's files. */
export interface Source {
  /** The archive that was named; null if the folder was. */
  readonly archive: string | null;
  /** Puts a copy of a file at `to`, which does not exist yet. Throws `GatewayError("unable")`. */
  fetch(name: string, to: string, limits: Limits): Promise<void>;
}

export interface Limits {
  mostBytes: number;
  signal: AbortSignal;
  onBytes?: (bytes: number, total: number | null) => void;
}

/** Decides how a request leaves this machine. Throws if it may not leave. */
export type Pin = (request: HttpsRequest) => Promise<PinnedRequest>;

/** Redirects of a forge lead to a server for files, which may redirect further. */
const MAX_REDIRECTS = 5;

/** `place` is a folder or an archive in it: a path, or an https address, where that of a folder ends with a slash. */
export function sourceAt(place: string, pin: Pin): Source {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(place)) return remoteSource(addressIn(place), pin);
  const path = resolve(place);
  if (isFolder(path)) return localSource(path, null);
  return localSource(dirname(path), archiveNamed(basename(path), place));
}

function localSource(folder: string, archive: string | null): Source {
  return {
    archive,
    fetch: (name, to, { mostBytes, signal }) => takeCopy(join(folder, name), to, mostBytes, signal),
  };
}

function remoteSource(address: URL, pin: Pin): Source {
  const name = address.pathname.slice(address.pathname.lastIndexOf("/") + 1);
  return {
    archive: name === "" ? null : archiveNamed(name, address.href),
    fetch: async (file, to, limits) => {
      const from = new URL(file, address);
      const { status } = await followed(from, pin, to, limits);
      if (status !== 200) throw unable(`${from.host} has no ${file}: it answered ${status}`);
    },
  };
}

async function followed(from: URL, pin: Pin, to: string, limits: Limits): Promise<HttpsAnswer> {
  const { mostBytes, onBytes, signal } = limits;
  let url = from;
  for (let hop = 0; hop <= MAX_REDIRECTS; hop += 1) {
    const request = await pin({ url: url.href, method: "GET", headers: {} });
    const answer = await download(request, { path: to, mostBytes, ...(onBytes && { onBytes }) }, signal);
    const { location } = answer.headers;
    if (![301, 302, 303, 307, 308].includes(answer.status) || location === undefined) return answer;
    url = new URL(location, url);
    if (url.protocol !== "https:")
      throw unable(`${from.host} redirects to an address without https, which is not followed`);
  }
  throw unable(`${from.host} redirects more than ${MAX_REDIRECTS} times`);
}

function addressIn(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url?.protocol !== "https:") throw wrong("the address of a release begins with https://");
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "")
    throw wrong("the address of a release has no user, no password, and nothing after ? or #");
  return url;
}

function archiveNamed(name: string, place: string): string {
  if (archiveOf(name) !== null) return name;
  throw wrong(
    `${place} is neither the folder of a release nor one of its archives; the address of a folder ends with /`,
  );
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch (cause) {
    throw new CommandError("unable", messageOf(cause), { cause });
  }
}

function wrong(message: string): GatewayError {
  return new CommandError("bad_request", message);
}

function unable(message: string): GatewayError {
  return new CommandError("unable", message);
}
