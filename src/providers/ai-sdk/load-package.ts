import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** An installed package that is not imported yet. */
export interface FoundPackage {
  name: string;
  /** `file:` URL of its entry. */
  url: string;
}

/** Matches the names that the npm registry accepts. It rejects paths and URLs. */
const nameShape = /^(?:@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~-][a-z0-9._~-]*$/;

/**
 * Finds a package in the working directory, then in the directory where Headgate is installed. Does not run the
 * package.
 *
 * @throws {Error} that names what to install, for the operator
 */
export function findPackage(name: string, cwd: string = process.cwd()): FoundPackage {
  if (!nameShape.test(name))
    throw new Error(`package: "${name}" is not the name of a package. A name is, for example, @ai-sdk/cohere.`);
  for (const place of [join(cwd, 'package.json'), import.meta.url]) {
    try {
      return { name, url: pathToFileURL(createRequire(place).resolve(name)).href };
    } catch {
      // not in this directory
    }
  }
  throw new Error(`package: ${name} is not installed. Run: npm install ${name}`);
}

/** `@ai-sdk/amazon-bedrock` → `createAmazonBedrock`. */
export function factoryName(name: string): string {
  const words = name.replace(/^@[^/]+\//, '').split(/[-_.]/);
  return `create${words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')}`;
}

/**
 * Returns the function that creates the package's provider. The operator names it, or the package's name implies it, or
 * it is the only function of its kind.
 *
 * @throws {Error} that lists the available functions, for the operator
 */
export function findFactory(
  exported: Record<string, unknown>,
  name: string,
  wanted?: string,
): (settings: object) => unknown {
  const makers = Object.keys(exported).filter((key) => /^create[A-Z]/.test(key) && typeof exported[key] === 'function');
  const chosen = [wanted, factoryName(name), makers.length === 1 ? makers[0] : undefined].find(
    (key) => key !== undefined && typeof exported[key] === 'function',
  );
  if (chosen === undefined || (wanted !== undefined && chosen !== wanted)) {
    throw new Error(
      `factory: ${name} exports ${makers.join(', ') || 'no function that begins with create'}; name one of them.`,
    );
  }
  return exported[chosen] as (settings: object) => unknown; // the filter has checked that it is a function
}
