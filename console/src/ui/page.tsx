import { type JSX, type ReactNode, useEffect } from 'react';

/** A page: its heading, actions beside the heading, and the content. */
export function Page({
  title,
  about,
  actions,
  fills = false,
  children,
}: {
  title: string;
  about?: ReactNode;
  actions?: ReactNode;
  /** Whether the page has the height of the window, and a part of it scrolls. */
  fills?: boolean;
  children: ReactNode;
}): JSX.Element {
  useEffect(() => {
    document.title = `${title} · Headgate`;
  }, [title]);
  return (
    <div className={fills ? 'page fills' : 'page'}>
      <div className="page-head">
        <h1>{title}</h1>
        {actions}
        {about !== undefined && <p className="about">{about}</p>}
      </div>
      {children}
    </div>
  );
}

/** A part of a page with a heading. */
export function Panel({
  title,
  aside,
  padded = true,
  children,
}: {
  title: string;
  aside?: ReactNode;
  padded?: boolean;
  children: ReactNode;
}): JSX.Element {
  return (
    <section className="panel" aria-label={title}>
      <header>
        <h2>{title}</h2>
        {aside}
      </header>
      {padded ? (
        <div className="body">{children}</div>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable with the keyboard
        <div className="table-scroll" tabIndex={0}>
          {children}
        </div>
      )}
    </section>
  );
}
