# shellcheck shell=bash
# Sourced by scripts in bash: a Chromium without a window, driven by WebDriver.
#
#     browser_start FOLDER      starts it, with its files there
#     browser_tab NAME URL      opens a page in a tab of its own, which is the one
#                               that all below is about
#     browser_switch NAME       another tab is the one
#     browser_reload            loads its page once more
#     browser_run SCRIPT        what a script in JavaScript returns
#     browser_text ID           the text of an element, as it is seen: of one
#                               that is hidden it is empty
#     browser_click ID          a click on it, where it can be seen and clicked
#     browser_wait ID PATTERN   waits until its text is like this, for a minute;
#                               what it is else goes to the errors
#     browser_cdp NAME JSON     a command of the DevTools protocol
#     browser_capture FILE      what is seen, as PNG
#     browser_stop              ends it, if it runs

browser_pid=
browser_port=
browser_session=
declare -A browser_tabs

# browser METHOD PATH [JSON]: a command; its value, bare where it is a text.
browser()
{
    local data=() answer
    if [ "$1" = POST ]; then
        data=(--json "${3:-"{}"}")
    fi
    answer=$(curl -sS --max-time 120 -X "$1" "${data[@]}" \
        "http://127.0.0.1:$browser_port/session$browser_session$2")
    jq -r 'if .value | type == "object" and has("error")
        then "browser: \(.value.message)\n" | halt_error(1)
        else .value | values end' <<<"$answer"
}

# Chromedriver looks for a free port by itself, and tells it.  Chromium keeps
# nothing outside of its profile; as root it can have no sandbox.
browser_start()
{
    local folder=$1 options
    mkdir -p "$folder/profile"
    : >"$folder/log"
    HOME=$folder TMPDIR=$folder setsid chromedriver --port=0 \
        >"$folder/log" 2>&1 &
    browser_pid=$!
    until browser_port=$(sed -n 's/.* successfully on port \([0-9]*\)\.$/\1/p' \
        "$folder/log") && [ -n "$browser_port" ]; do
        if ! kill -0 "$browser_pid" 2>/dev/null; then
            echo "chromedriver: $(tail -n 1 "$folder/log")" >&2
            return 1
        fi
        sleep 0.1
    done
    options=$(jq -n --arg profile "$folder/profile" '{capabilities:
        {alwaysMatch: {"goog:chromeOptions": {args: ["--headless=new",
            "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
            "--window-size=1200,800", "--user-data-dir=\($profile)"]}}}}')
    browser_session=
    browser_session=/$(browser POST '' "$options" | jq -r .sessionId)
}

browser_tab()
{
    browser_tabs[$1]=$(browser POST /window/new '{"type": "tab"}' |
        jq -r .handle)
    browser_switch "$1"
    browser POST /url "$(jq -n --arg url "$2" '{url: $url}')" >/dev/null
}

browser_switch()
{
    browser POST /window "{\"handle\": \"${browser_tabs[$1]}\"}" >/dev/null
}

browser_reload()
{
    browser POST /refresh >/dev/null
}

browser_run()
{
    browser POST /execute/sync \
        "$(jq -n --arg script "$1" '{script: $script, args: []}')"
}

browser_element()
{
    browser POST /element \
        "{\"using\": \"css selector\", \"value\": \"#$1\"}" | jq -r '.[]'
}

browser_text()
{
    browser GET "/element/$(browser_element "$1")/text"
}

browser_click()
{
    browser POST "/element/$(browser_element "$1")/click" >/dev/null
}

browser_wait()
{
    local text until=$((SECONDS + 60))
    until
        text=$(browser_text "$1")
        # shellcheck disable=SC2053  # a pattern
        [[ $text == $2 ]]
    do
        if [ "$SECONDS" -ge "$until" ]; then
            echo "browser: #$1 is not '$2', but '$text'" >&2
            return 1
        fi
        sleep 0.1
    done
}

browser_cdp()
{
    browser POST /goog/cdp/execute "{\"cmd\": \"$1\", \"params\": $2}"
}

browser_capture()
{
    browser GET /screenshot | base64 -d >"$1"
}

# Chromium is in the process group of its driver.
browser_stop()
{
    if [ -n "$browser_pid" ]; then
        if [ -n "$browser_session" ]; then
            browser DELETE '' >/dev/null 2>&1 || :
        fi
        kill -- -"$browser_pid" 2>/dev/null || :
        wait "$browser_pid" 2>/dev/null || :
        browser_pid=
        browser_session=
    fi
}
