import type { AuditEventJson } from './schemas/audit-schema.ts';

type Cell = string | number | null;

const COLUMNS: readonly (readonly [name: string, cellOf: (event: AuditEventJson) => Cell])[] = [
  ['seq', ({ seq }) => seq],
  ['id', ({ id }) => id],
  ['at', ({ at }) => at],
  ['kind', ({ kind }) => kind],
  ['confirmation', ({ confirmation }) => confirmation],
  ['run', ({ run }) => run],
  ['actor.type', ({ actor }) => actor.type],
  ['actor.id', ({ actor }) => actor.id],
  ['actor.name', ({ actor }) => actor.name],
  ['data', ({ data }) => JSON.stringify(data)],
  ['prevHash', ({ prevHash }) => prevHash],
  ['hash', ({ hash }) => hash],
  ['requestSeq', ({ requestSeq }) => requestSeq],
  ['requestPrev', ({ requestPrev }) => requestPrev],
  ['requestHash', ({ requestHash }) => requestHash],
];

/** The first line of the record as CSV (RFC 4180): the names of the columns. */
export const AUDIT_CSV_HEADER = lineOf(COLUMNS.map(([name]) => name));

/** An event as one record of it; what the event does not have is an empty field, and `data` is its JSON. */
export const auditCsvLine = (event: AuditEventJson): string =>
  lineOf(COLUMNS.map(([, cellOf]) => cellOf(event)));

function lineOf(cells: readonly Cell[]): string {
  return `${cells.map((cell) => (cell === null ? '' : field(String(cell)))).join(',')}\r\n`;
}

/**
 * A spreadsheet runs a field that begins like a formula, and some names (of people, of agents) are chosen outside:
 * such a one gets an apostrophe before it, which spreadsheets take for "this is text" (OWASP, "CSV Injection").
 */
function field(text: string): string {
  const harmless = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}
