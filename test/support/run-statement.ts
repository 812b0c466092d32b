import pg from 'pg';

/** Runs one statement on a connection of its own, as the owner of the server does, and gives its rows. */
export async function runStatement<Row extends pg.QueryResultRow>(
  url: string,
  statement: string,
): Promise<readonly Row[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Row>(statement)).rows;
  } finally {
    await client.end();
  }
}
