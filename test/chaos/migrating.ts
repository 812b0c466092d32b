import { connectPostgres } from '../../src/db/connect-postgres.ts';
import { migrate } from '../../src/db/migrate.ts';

// What a service does first when it starts, alone in a process that may be killed in the middle of it.
const database = await connectPostgres({ url: process.argv[2] ?? '', listen: false });
await migrate(database);
await database.close();
